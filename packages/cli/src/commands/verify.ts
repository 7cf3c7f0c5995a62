import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import {
  loadConfigToRead,
  openUserKeyring,
  parsePublicKey,
  parseWitness,
  verifyExport,
  type PublicKey,
  type Verification,
  type VerifyOptions,
  type WitnessLine,
} from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { line, type Lines, type Style } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { describeEvery, joinLedger, verifyEvery, verifyLedger } from '../verify-every.ts';
import { warnUnread, withCaissonToRead } from '../with-caisson.ts';
import { keepYoungSpaceSmall } from '../young-space.ts';

const BY_OUTCOME: Readonly<Record<Verification['outcome'], ExitCode>> = {
  ok: EXIT_CODES.finished,
  tampered: EXIT_CODES.tampered,
  unsealed: EXIT_CODES.unsealed,
  incomplete: EXIT_CODES.incomplete,
  'bad-signature': EXIT_CODES.badSignature,
  'no-key': EXIT_CODES.noKey,
};

export const command = defineCommand({
  usage: '[RUN|FILE | --all] [--key KEY] [--witness FILE]',
  about:
    'Checks a run of this project (the newest if none is named), or an exported file, which needs no state folder and no network. Exit codes:\n' +
    '0 everything is correct, 6 tampered (something was changed, also by damage to a file of ours), 7 the signature is wrong, 8 the key is not trusted here, 9 unsealed\n' +
    '(nothing was signed yet), 10 incomplete (something is missing or cannot be read, and the rest agrees). A run of this\n' +
    'project that ended without a seal is sealed first, if the key can be used. It is also compared with the newest seal\n' +
    'that was noted of its ledger, and against evidence.witness. With --all the ledger itself and every run that ended are\n' +
    'checked, and the worst outcome decides the exit code.',
  options: {
    all: { type: 'boolean', summary: 'check every run that ended; on a terminal the progress is shown' },
    key: { type: 'string', value: 'FILE', summary: 'public key (PEM) to trust instead of the key ring' },
    witness: { type: 'string', value: 'FILE', summary: 'the seal must be among the lines of this witness' },
  },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson verify latest', says: 'Check the newest run.' },
    { line: 'caisson verify --all -o ndjson', says: 'Check every run, one line each.' },
    { line: 'caisson verify proof.tar --key their-key.pem', says: 'Check a file that you received.' },
  ],
  async run({ options, positionals, output }) {
    const given = positionals[0] ?? 'latest';
    if (options.all === true && positionals.length > 0)
      throw new UsageError('verify --all checks every run; name none');
    const how: Partial<VerifyOptions> = {
      ...(options.key === undefined ? {} : { trustedKeys: [readKey(options.key)] }),
      ...(options.witness === undefined ? {} : { witness: readWitness(options.witness) }),
    };
    if (options.all === true) keepYoungSpaceSmall();
    if (options.all === true) return await verifyAll(options['state-dir'], how, output);
    const isFile =
      given.includes('/') || given.includes('.') || (existsSync(given) && !given.startsWith('run_'));
    const verification = isFile
      ? await verifyFile(given, how, options['state-dir'], output)
      : await withCaissonToRead(options['state-dir'], output, (caisson) => caisson.verify(given, how));
    output.result(verification, () => describe(verification, output.style));
    const { runId, outcome } = verification;
    if (!isFile && runId !== null && outcome === 'ok') await noteCheck(options['state-dir'], runId, output);
    return BY_OUTCOME[verification.outcome];
  },
});

async function verifyAll(
  stateDir: string | undefined,
  how: Partial<VerifyOptions>,
  output: Output,
): Promise<ExitCode> {
  const every = await withCaissonToRead(stateDir, output, async (caisson) => {
    const ledger = await verifyLedger(caisson, output);
    if (ledger !== null && output.format === 'ndjson') output.event({ runId: null, ...ledger });
    return joinLedger(await verifyEvery(caisson, how, output), ledger);
  });
  output.result(every, () => describeEvery(every, output.style));
  return BY_OUTCOME[every.outcome];
}

/** A record can be correct, and the work that it records not. */
async function noteCheck(stateDir: string | undefined, run: string, output: Output): Promise<void> {
  const ended = await withCaissonToRead(stateDir, output, (caisson) => caisson.runs({ ids: [run] }));
  if (ended[0]?.checkPassed === false) output.note('its check: did not pass');
}

async function verifyFile(
  file: string,
  how: Partial<VerifyOptions>,
  stateDir: string | undefined,
  output: Output,
): Promise<Verification> {
  requireReadable(file);
  if (!looksLikeExport(file))
    throw new UsageError(`${file} is not a Caisson export; caisson export writes one`);
  const own = { usesProject: false, flags: { state: stateDir } };
  const trustedKeys =
    how.trustedKeys ?? (await openUserKeyring(await loadConfigToRead(own, warnUnread(output))).trustedKeys());
  return verifyExport(file, { ...how, trustedKeys });
}

/** One that was changed still looks like one, and is checked: both marks must be missing. */
function looksLikeExport(file: string): boolean {
  const start = Buffer.alloc(512);
  const opened = openSync(file, 'r');
  try {
    readSync(opened, start, 0, start.length, 0);
  } finally {
    closeSync(opened);
  }
  const text = start.toString('latin1');
  return text.startsWith('caisson-export.json') || text.slice(257, 262) === 'ustar';
}

/** What cannot be read was not shown to be forged. */
function requireReadable(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no file ${file}`);
  if (!stats.isFile()) throw new UsageError(`${file} is not a file; caisson export writes one`);
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new UsageError(`${file} may not be read by this user`);
  }
}

function readKey(file: string): PublicKey {
  requireReadable(file);
  try {
    return parsePublicKey(readFileSync(file, 'utf8'), file);
  } catch (error) {
    throw new UsageError(`--key ${file} is not a public key: ${(error as Error).message}`);
  }
}

function readWitness(file: string): readonly WitnessLine[] {
  requireReadable(file);
  try {
    return parseWitness(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`--witness ${file} is not the file of a witness: ${(error as Error).message}`);
  }
}

function describe(verification: Verification, style: Style): Lines {
  const marks = {
    ok: style.green('ok'),
    failed: style.red('FAILED'),
    missing: style.yellow('MISSING'),
    'not-applicable': style.dim('n/a'),
  };
  const lines = verification.checks.map(
    (check) => line`${marks[check.verdict]}  ${check.id}  ${style.dim(check.detail)}`,
  );
  const advice = new Set(verification.checks.flatMap(({ remedy }) => remedy ?? []));
  return [
    ...lines,
    ...Array.from(advice, (remedy) => line`${style.dim(remedy)}`),
    line`${verification.outcome === 'ok' ? style.green('verified') : style.red(verification.outcome)}  ${verification.runId ?? ''}`,
  ];
}
