import { Writable } from 'node:stream';
import {
  diffText,
  isDaemonLoss,
  listPatchFiles,
  MCP_SCOPES,
  readHostEnvironment,
  rehearseRun,
  serveMcp,
  type Caisson,
  type McpBounds,
  type McpProject,
  type McpScope,
} from '@caisson/engine';
import { CaissonError, MODES, toErrorInfo, type DispatchRequest, type Mode } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { onStopSignals } from '../stop-signals.ts';
import { UsageError } from '../usage-error.ts';
import { VERSION } from '../version.ts';
import { warnUnread, withCaisson, withCaissonToRead, withCaissonToWrite } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--mode MODE] [--budget USD] [--max-usd USD] [--session NAME] [--read-only | --scope SCOPES]',
  about:
    'An MCP server on stdin and stdout, for an agent on this machine: it starts runs (dispatch), follows them (status, wait,\n' +
    'list), reads their work (diff, board), and decides (apply, answer, cancel). Uses the daemon if there is one; without one\n' +
    'each run has a background host. What you say here limits the client: it cannot ask for more, and a run without a sandbox\n' +
    'is always refused. It cannot approve a waiting call, nor apply risky files or work whose check did not pass: you do.\n' +
    'An agent inside a run cannot use it: its sandbox has no way to this project. --tool dispatch of run is for that.',
  options: {
    mode: {
      type: 'string',
      value: 'MODE',
      choices: MODES,
      summary: 'the highest autonomy of a run; default auto-edit',
    },
    budget: {
      type: 'string',
      value: 'USD',
      summary: 'money that one run may spend; default that of the project',
    },
    'max-usd': {
      type: 'string',
      value: 'USD',
      summary: 'money that all runs of this server may spend together; default no cap',
    },
    sandbox: {
      type: 'string',
      value: 'KIND',
      choices: ['bwrap'],
      summary: 'the sandbox of every run; there is no other choice',
    },
    session: { type: 'string', value: 'NAME', summary: 'only runs and the board of this session' },
    'read-only': { type: 'boolean', summary: 'only look: the same as --scope read' },
    scope: {
      type: 'string',
      value: 'SCOPES',
      summary: `some of ${MCP_SCOPES.join(',')}: which tools the client has; default all`,
    },
  },
  examples: [
    { line: 'claude mcp add caisson -- caisson mcp --budget 2', says: 'Give Claude Code the tools.' },
    { line: 'codex mcp add caisson -- caisson mcp --mode suggest', says: 'Codex; its runs write nothing.' },
    { line: 'caisson mcp --read-only', says: 'A client that only looks.' },
    { line: 'caisson mcp --scope read,run --session night', says: 'Runs of one session; a person applies.' },
  ],
  async run({ options, output }) {
    refuseInsideRun(readHostEnvironment());
    const bounds = readBounds(options);
    if (process.stdin.isTTY)
      output.note(
        'This is a server for MCP clients, which start it themselves; see caisson mcp --help. Ctrl-C ends it.',
      );
    const ending = new AbortController();
    const stopListening = onStopSignals(() => ending.abort());
    await serveMcp({
      input: process.stdin,
      output: writableOf(output),
      project: createProject(options['state-dir'], output),
      bounds,
      version: VERSION,
      signal: AbortSignal.any([ending.signal, output.closed]),
      onError: (error) => output.note(`warning: ${error.message}`),
    });
    stopListening();
    return EXIT_CODES.finished;
  },
});

/** The program was started by an agent of ours, which has neither the state folder nor a socket to its host. */
class InsideRunError extends CaissonError {
  readonly code = 'INSIDE_RUN';
}

function refuseInsideRun(env: Readonly<Record<string, string | undefined>>): void {
  const runId = env['CAISSON_RUN_ID'] ?? '';
  if (runId === '' || (env['CAISSON_MAILBOX'] ?? '') === '') return;
  throw new InsideRunError(
    `caisson mcp cannot work inside ${runId}: the sandbox of a run has no way to its project`,
    {
      remedy: 'Start the run with --tool dispatch: its agent then has tools for runs of its own.',
    },
  );
}

interface BoundOptions {
  readonly mode: string | undefined;
  readonly budget: string | undefined;
  readonly 'max-usd': string | undefined;
  readonly session: string | undefined;
  readonly 'read-only': boolean;
  readonly scope: string | undefined;
}

function readBounds(options: BoundOptions): McpBounds {
  if (options['read-only'] && options.scope !== undefined)
    throw new UsageError('--read-only and --scope say the same thing twice', {
      remedy: 'Use only one of them.',
    });
  return {
    mode: (options.mode ?? 'auto-edit') as Mode,
    session: options.session ?? null,
    runUsd: readUsd('--budget', options.budget),
    totalUsd: readUsd('--max-usd', options['max-usd']),
    scopes: options['read-only'] ? ['read'] : readScopes(options.scope),
  };
}

function readUsd(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const usd = Number(text);
  if (text.trim() !== '' && Number.isFinite(usd) && usd >= 0) return usd;
  throw new UsageError(`${option} needs a number, got "${text}"`);
}

function readScopes(text: string | undefined): readonly McpScope[] {
  if (text === undefined) return MCP_SCOPES;
  return text.split(',').map((word) => {
    const scope = MCP_SCOPES.find((known) => known === word.trim());
    if (scope !== undefined) return scope;
    throw new UsageError(`--scope: "${word}" is unknown`, { remedy: `Some of: ${MCP_SCOPES.join(',')}` });
  });
}

function createProject(stateDir: string | undefined, output: Output): McpProject {
  const onUnread = warnUnread(output);
  return {
    read: (work) => withCaissonToRead(stateDir, output, work),
    act: (client, work) => withCaisson(stateDir, work, output, { client: nameOf(client) }),
    steer: (client, work) => withCaisson(stateDir, work, output, { client: nameOf(client), onUnread }),
    writeBoard: (_client, _session, work) => withCaissonToWrite(stateDir, output, work, { onUnread }),
    async start(client, request) {
      const entry = [process.argv[1] ?? ''];
      const start = (caisson: Caisson) => startKnown(caisson, request, entry);
      const rehearse = (config: Caisson['config']): Promise<void> => rehearseRun(request, config);
      return withCaissonToWrite(stateDir, output, start, { client: nameOf(client), rehearse });
    },
    describeError: toErrorInfo,
    isDaemonLoss,
    describePatch: (patch) => ({ text: diffText(patch), files: listPatchFiles(patch) }),
  };
}

/** A run that was accepted before this one was asked for is the one that has its key. */
async function startKnown(
  caisson: Caisson,
  request: DispatchRequest,
  entry: readonly string[],
): Promise<{ runId: string; isEarlier: boolean }> {
  const before = await caisson.lastOffset();
  const runId = await caisson.dispatchDetached(request, entry);
  if (request.idempotencyKey === undefined) return { runId, isEarlier: false };
  const [row] = await caisson.runs({ ids: [runId] });
  return { runId, isEarlier: row !== undefined && row.acceptedOffset <= before };
}

/** As its decisions are recorded. */
function nameOf(client: string): string {
  return `mcp: ${client}`;
}

/** stdout is the protocol; what commands note goes to stderr. */
function writableOf(output: Output): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      output.pass('stdout', [chunk]).then(() => done(), done);
    },
  });
}
