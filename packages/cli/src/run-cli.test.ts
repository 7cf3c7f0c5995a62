import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CommandRow } from './command.ts';
import { COMMANDS } from './command-table.ts';
import { exitCodeOfResult } from './exit-codes.ts';
import { runCli } from './run-cli.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-cli-'));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(tmpdir());
  rmSync(folder, { recursive: true, force: true });
});

/** Collects what would go to a stream that is not a terminal. */
function createSink(): { stream: NodeJS.WriteStream; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return {
    stream: Object.assign(stream, { isTTY: false }) as unknown as NodeJS.WriteStream,
    text: () => text,
  };
}

async function caisson(args: readonly string[], env: Record<string, string> = {}) {
  const [stdout, stderr] = [createSink(), createSink()];
  vi.stubEnv('HOME', folder);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    const code = await runCli(args, COMMANDS, { stdout: stdout.stream, stderr: stderr.stream });
    return { code, out: stdout.text(), err: stderr.text() };
  } finally {
    vi.unstubAllEnvs();
  }
}

describe('the command line', () => {
  it('every command explains itself with a usage line and examples', async () => {
    for (const row of COMMANDS) {
      const { command } = await row.load();
      expect(
        command.examples.every(({ line }) => line.includes('caisson')),
        row.name,
      ).toBe(true);
    }
    const { code, out } = await caisson(['config', '--help']);
    expect(code).toBe(0);
    expect(out).toMatch(/Usage {2}caisson config \[KEY\]\n\nExamples\n {2}caisson config\n/);
  });

  it('prints its version however it is asked', async () => {
    const { out } = await caisson(['version']);
    for (const word of ['--version', '-V', '-v'])
      expect(await caisson([word])).toMatchObject({ code: 0, out });
  });

  it.each([
    [['run', '--timeout', '3', '--', 'true'], '--timeout'],
    [['run', '--stall-timeout', '3', '--', 'true'], '--stall-timeout'],
    [['gc', '--older-than', '3'], '--older-than'],
    [['board', '--session', 's', 'set', 'k', '"v"', '--ttl', '3'], '--ttl'],
  ])('a duration without a unit is refused: %j', async (args, option) => {
    expect(await caisson(args)).toMatchObject({
      code: 2,
      err: `error: ${option} needs a unit: "3" may be seconds or minutes. Write ${option} 3s or ${option} 3m.\n`,
    });
  });

  it('help fits into the terminal, and is data for a program that asks for it', async () => {
    for (const { name } of COMMANDS) {
      const { code, out } = await caisson([...name.split(' '), '--help']);
      expect(code, name).toBe(0);
      const tooWide = out
        .split('\n')
        .filter((line) => line.length > 80 && !/^( {2}caisson |Usage)/.test(line));
      expect(tooWide, name).toEqual([]);
    }
    const help = JSON.parse((await caisson(['help', 'doctor', '-o', 'json'])).out) as Record<string, unknown>;
    expect(help).toMatchObject({
      name: 'doctor',
      usage: 'caisson doctor [--repair] [--quick] [--accept-ledger]',
    });
    expect(JSON.parse((await caisson(['doctor', '--help', '-o', 'json'])).out)).toEqual(help);
    const { commands } = JSON.parse((await caisson(['help', '-o', 'json'])).out) as { commands: unknown[] };
    expect(commands).toHaveLength(COMMANDS.length);
  });

  it('output that finds no room is an error, never a success without a result', () => {
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', `"$0" "$1" config -o json > /dev/full`, process.execPath, MAIN],
      {
        encoding: 'utf8',
        cwd: folder,
      },
    );
    expect(status).toBe(1);
    expect(stderr).toMatch(/^error: the output could not be written: ENOSPC.*\n$/);
  });

  it('an uncaught exception is printed without being obeyed', () => {
    const throws =
      "const t = setInterval(() => { if (process.listenerCount('uncaughtException') > 0) throw new Error('x\\x1b]0;y\\x07'); })";
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(throws)}`, MAIN, 'help'],
      { encoding: 'utf8', cwd: folder },
    );
    expect(status).toBe(1);
    expect(stderr).toContain('internal error: Error: x\\u001b]0;y\\u0007');
  });

  it('no command at all shows the overview and is a usage error', async () => {
    expect(await caisson([])).toMatchObject({ code: 2, out: expect.stringContaining('Commands\n  ') });
    expect((await caisson(['--help'])).code).toBe(0);
  });

  it('takes what every command understands also in front of it', async () => {
    const usual = await caisson(['runs', '-o', 'json', '--no-daemon']);
    expect(usual).toMatchObject({ code: 0, out: '[]\n' });
    expect(await caisson(['-o', 'json', '--no-daemon', 'runs'])).toEqual(usual);
    expect(JSON.parse((await caisson(['--output=json', 'help'])).out)).toHaveProperty('commands');
  });

  it('warns about a state folder that does not exist, where nothing would be found', async () => {
    const { code, err } = await caisson(['runs', '--state-dir', join(folder, 'nope')]);
    expect([code, err]).toEqual([0, `warning: there is no folder ${join(folder, 'nope')}\n`]);
    expect((await caisson(['runs'])).err).toBe('');
  });

  it('says what was probably meant', async () => {
    expect((await caisson(['docotr'])).err).toBe(
      'error: There is no command "docotr". Did you mean "caisson doctor"?\n',
    );
    expect((await caisson(['--no-daemon'])).err).toBe(
      'error: No command comes with "--no-daemon". caisson --help lists them all.\n',
    );
    expect((await caisson(['restart'])).err).toBe(
      'error: There is no command "restart". For the daemon: caisson up -d --replace.\n',
    );
    expect((await caisson(['config', '--ouput', 'json'])).err).toBe(
      'error: caisson config has no option --ouput. Did you mean --output?\n',
    );
    expect((await caisson(['config', '-o', 'jsn'])).err).toMatch(
      /is one of human, json, ndjson; "jsn" is not\. Did you mean "json"\?/,
    );
    expect((await caisson(['config', 'limits.timeot'])).err).toMatch(
      /no setting "limits\.timeot"\. Did you mean "limits\.timeout"\?/,
    );
  });

  it('refuses a missing value, a value for a switch, and words that do not belong', async () => {
    expect((await caisson(['config', '--state-dir'])).err).toMatch(/--state-dir needs a value \(FOLDER\)/);
    expect((await caisson(['config', '--state-dir', '--help'])).err).toMatch(/--state-dir needs a value/);
    expect((await caisson(['config', '--help=yes'])).err).toMatch(/switch and takes no value/);
    expect(await caisson(['doctor', 'now'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('does not take "now". Usage: caisson doctor'),
    });
    expect((await caisson(['doctor', '--', 'x'])).err).toMatch(/takes nothing after "--"/);
  });

  it('refuses values that no command can use, in whole sentences', async () => {
    const refusals: [string[], string][] = [
      [['runs', '--limit', 'abc'], 'error: --limit needs a whole number above 0, got "abc".\n'],
      [
        ['board', 'get', 'port'],
        'error: caisson board needs a session: "get port" of which session? Name it with --session; caisson board alone lists the sessions.\n',
      ],
      [
        ['run', '--network', 'hosts=', '--', 'true'],
        'error: --network hosts= names no host. Use --network none, or name them: --network hosts=registry.npmjs.org:443\n',
      ],
      [
        ['run', '-fix the test'],
        'error: "-fix the test" starts with a dash, so it was read as options. A text that starts with a dash goes in by a file (@FILE) or by stdin (-).\n',
      ],
    ];
    for (const [line, err] of refusals) expect(await caisson(line)).toEqual({ code: 2, out: '', err });
    expect(await caisson(['show', 'nope'])).toMatchObject({
      code: 1,
      err: 'error: there is no run nope. caisson runs lists the runs of this project.\n',
    });
  });

  it('a home that cannot be found is said, and a relative HOME is not believed', async () => {
    const { code, err } = await caisson(['config', 'mode'], { HOME: 'not/absolute' });
    expect([code, err]).toEqual([0, '']);
  });

  it('with -o json an error is one object on stdout', async () => {
    const { code, out, err } = await caisson(['doctor', '-o', 'json', '--nope']);
    expect([code, err]).toEqual([2, '']);
    expect(JSON.parse(out)).toEqual({
      error: {
        code: 'USAGE',
        message: 'caisson doctor has no option --nope.',
        retryable: false,
        remedy: 'caisson doctor --help lists its options.',
      },
    });
  });

  it('a reader that goes away is not an error', async () => {
    const child = spawn(process.execPath, [MAIN, 'completion', 'fish'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(stderr).toBe('');
  });
});

describe('commands', () => {
  it('config shows value and source, and one value alone', async () => {
    writeFileSync(join(folder, 'caisson.yaml'), 'limits:\n  timeout: 90s\n');
    expect((await caisson(['config', 'limits.timeout'])).out).toBe('1m30s\n');
    expect((await caisson(['config'])).out).toMatch(/limits\.timeout +1m30s +caisson\.yaml:2\n/);
    const row = JSON.parse(
      (await caisson(['config', 'limits.memory', '-o', 'json'], { CAISSON_LIMITS_MEMORY: '1g' })).out,
    ) as unknown;
    expect(row).toEqual({
      key: 'limits.memory',
      value: 1024 ** 3,
      source: 'env',
      from: 'CAISSON_LIMITS_MEMORY',
    });
  });

  it('a bad config file is a usage error with its place', async () => {
    writeFileSync(join(folder, 'caisson.yaml'), 'limts: {}\n');
    expect(await caisson(['config'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/caisson\.yaml:1:1: unknown key "limts".*Did you mean "limits"\?/),
    });
  });

  it('doctor goes on when the configuration is bad: that is its first finding', async () => {
    writeFileSync(join(folder, 'caisson.yaml'), 'limits:\n  memory: []\n');
    const { code, out } = await caisson(['doctor', '-o', 'json'], { CAISSON_MODE: 'nonsense' });
    const { probes } = JSON.parse(out) as { probes: { id: string; verdict: string }[] };
    expect(code).toBe(1);
    expect(probes[0]).toEqual({
      id: 'config',
      verdict: 'fail',
      detail: expect.stringContaining(`${join(folder, 'caisson.yaml')}:2:11: limits.memory: `) as unknown,
      remedy: 'Correct the value and run the command again. The other findings are without it.',
    });
    expect(probes.map(({ id }) => id)).toEqual(expect.arrayContaining(['git', 'bubblewrap', 'ledger']));
  });

  it('a variable that looks like a setting and is none is warned of, and other ones are left alone', async () => {
    const variables = { CAISSON_LIMITS_MEMROY: '1g', CAISSON_BUDGET_LIMIT: '5', CAISSON_KEY_OF_MINE: 'x' };
    const { code, out, err } = await caisson(['config', 'limits.memory', '-o', 'json'], variables);
    expect([code, (JSON.parse(out) as { source: string }).source]).toEqual([0, 'default']);
    expect(err).toBe(
      'warning: CAISSON_LIMITS_MEMROY is no setting and is ignored. Did you mean CAISSON_LIMITS_MEMORY?\n' +
        'warning: CAISSON_BUDGET_LIMIT is no setting and is ignored. caisson config lists the settings.\n',
    );
    const doctor = await caisson(['doctor', '-o', 'ndjson'], variables);
    expect(JSON.parse(doctor.out.split('\n')[0] ?? '')).toMatchObject({
      id: 'config',
      verdict: 'warn',
      detail: expect.stringContaining('Did you mean CAISSON_LIMITS_MEMORY?') as unknown,
    });
    expect(doctor.err).toBe('');
  });

  it('doctor prints a verdict for each probe', async () => {
    const { out } = await caisson(['doctor', '-o', 'json']);
    const { probes } = JSON.parse(out) as { probes: { id: string }[] };
    expect(probes.map(({ id }) => id)).toContain('user-namespaces');
  });

  it('doctor checks the whole ledger and names the damage', async () => {
    const ledgerProbe = async (...args: string[]) => {
      const { code, out } = await caisson(['doctor', '-o', 'json', ...args]);
      const { probes } = JSON.parse(out) as { probes: { id: string; verdict: string; detail: string }[] };
      return { code, ...probes.find(({ id }) => id === 'ledger') };
    };
    expect(await ledgerProbe()).toMatchObject({ verdict: 'ok', detail: expect.stringContaining('none yet') });
    expect(existsSync(join(folder, '.caisson'))).toBe(false);
    await caisson(['board', '--session', 's', 'set', 'key', '1']);
    expect(await ledgerProbe('--repair')).toMatchObject({
      verdict: 'ok',
      detail: '0 events of 0 runs, every hash is correct',
    });
    const file = join(folder, '.caisson', 'ledger.db');
    truncateSync(file, 10_000);
    const before = readFileSync(file);
    expect(await ledgerProbe()).toMatchObject({
      code: 10,
      verdict: 'fail',
      outcome: 'incomplete',
      detail: expect.stringContaining(`${file} is damaged`),
    });
    expect(readFileSync(file)).toEqual(before);
  });

  it.each(['bash', 'zsh', 'fish'])('the completion for %s knows every command', async (shell) => {
    const { out } = await caisson(['completion', shell]);
    const words = new Set(out.split(/[^\w-]+/));
    const named = COMMANDS.flatMap(({ name }) => name.split(' '));
    expect(named).toEqual(expect.arrayContaining(['senses', 'workflows', 'threads', 'residents', 'top']));
    expect(named.filter((word) => !words.has(word))).toEqual([]);
  });

  it('completion scripts are valid shell', async () => {
    const { out } = await caisson(['completion', 'bash']);
    expect(spawnSync('bash', ['-n'], { input: out }).status).toBe(0);
    const ask = `${out}\nCOMP_WORDS=(caisson doc); COMP_CWORD=1; _caisson; echo "\${COMPREPLY[@]}"\nCOMP_WORDS=(caisson config -o j); COMP_CWORD=3; _caisson; echo "\${COMPREPLY[@]}"`;
    expect(spawnSync('bash', ['-c', ask], { encoding: 'utf8' }).stdout).toBe('doctor\njson\n');
  });

  it.each([
    ['show ""', 'latest'],
    ['answer l', 'latest'],
    ['completion ""', 'bash zsh fish'],
    ['threads show lat', 'latest'],
    ['completion --words se', 'senses'],
    ['help doc', 'doctor'],
    ['run --mode = su', 'suggest'],
    ['run --mode =', 'suggest auto-edit full-auto'],
    ['run --base ""', ''],
    ['show --st', '--state-dir'],
  ])('bash completes "caisson %s" to "%s"', async (line, words) => {
    const { out } = await caisson(['completion', 'bash']);
    const ask = `${out}\nCOMP_WORDS=(caisson ${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _caisson; echo "\${COMPREPLY[@]}"`;
    expect(spawnSync('bash', ['-c', ask], { encoding: 'utf8' }).stdout).toBe(`${words}\n`);
  });

  const lines: [string, string][] = [
    ['doc', 'doctor'],
    ['show ""', 'latest'],
    ['agents l', 'list'],
    ['run --mode su', 'suggest'],
    ['help doc', 'doctor'],
    ['show --st', '--state-dir'],
  ];
  it.each(lines)('zsh completes "caisson %s" to "%s"', async (line, word) => {
    const { out } = await caisson(['completion', 'zsh']);
    // Outside of its line editor zsh has none of these; what is offered to them is what a person would choose from.
    const stage = `compdef() { :; }; _files() { :; }; compset() { :; }
      compadd() { shift; print -rl -- "$@"; }
      _describe() { print -rl -- "\${(@)\${(@P)4}%%:*}"; }`;
    const ask = `${stage}\n${out}\nwords=(caisson ${line}); CURRENT=$#words; _caisson`;
    const { stdout, stderr } = spawnSync('zsh', ['-fc', ask], { encoding: 'utf8' });
    const typed = line.split(' ').at(-1)?.replace('""', '') ?? '';
    expect(stderr).toBe('');
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((offer) => offer.startsWith(typed)),
    ).toEqual([word]);
  });

  it.each(lines)('fish completes "caisson %s" to "%s"', async (line, word) => {
    const { out } = await caisson(['completion', 'fish']);
    const ask = `${out}\ncomplete -C 'caisson ${line.replace('""', '')}'`;
    const env = { PATH: process.env['PATH'], HOME: folder };
    const { stdout } = spawnSync('fish', ['--no-config', '-c', ask], { encoding: 'utf8', env });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((offer) => offer.split('\t')[0]),
    ).toEqual([word]);
  });
});

it('each ending of a run has its exit code', async () => {
  const failed = (reason: 'timeout' | 'crashed' | 'policy-denied') =>
    exitCodeOfResult({ status: 'error', failure: { reason, detail: '' } });
  expect([failed('timeout'), failed('crashed'), failed('policy-denied')]).toEqual([124, 1, 4]);
  expect([
    exitCodeOfResult({ status: 'done' }),
    exitCodeOfResult({ status: 'waiting' }),
    exitCodeOfResult({ status: 'answered' }),
    exitCodeOfResult({ status: 'cancelled' }),
  ]).toEqual([0, 3, 3, 130]);
});

it('policy check decides as the gate of an agent would, with the rules of the project first', async () => {
  const check = async (...args: string[]) =>
    JSON.parse((await caisson(['policy', 'check', '-o', 'json', ...args])).out) as Record<string, unknown>;
  expect(await check('--mode', 'suggest', '--', 'ls')).toMatchObject({
    decision: 'allow',
    actionClass: 'file_read',
  });
  expect(await check('--mode', 'full-auto', '--', 'git push --force')).toMatchObject({
    decision: 'deny',
    actionClass: 'git_destructive',
  });
  writeFileSync(
    join(folder, 'caisson.yaml'),
    'policy:\n  rules:\n    - { command: npm publish, action: deny, reason: CI publishes. }\n',
  );
  expect(await check('--mode', 'full-auto', '--', 'npm publish --tag x')).toMatchObject({
    decision: 'deny',
    reason: 'CI publishes.',
  });
  expect((await caisson(['policy', 'check'])).err).toMatch(/needs a command after "--"/);
  expect((await caisson(['policy'])).err).toMatch(/needs one more word.*caisson policy check/);
});

it('a current folder that is gone is reported in a sentence', async () => {
  rmSync(folder, { recursive: true });
  expect(await caisson(['config'])).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      'the current folder does not exist any more. Change to a folder that exists.',
    ),
  });
});

it('a refusal of the machine is reported with its path, and only an unforeseen one is called a bug', async () => {
  const failing = (error: () => unknown): CommandRow => ({
    name: 'fail',
    summary: '',
    load: () =>
      Promise.resolve({ command: { ...VERSION_COMMAND, run: () => Promise.resolve(error() as 0) } }),
  });
  const { command: VERSION_COMMAND } = await import('./commands/version.ts');
  const missing = join(folder, 'missing');
  const reported = async (error: () => unknown): Promise<string> => {
    const stderr = createSink();
    expect(
      await runCli(['fail'], [failing(error)], { stdout: createSink().stream, stderr: stderr.stream }),
    ).toBe(1);
    return stderr.text();
  };
  expect(await reported(() => readFileSync(missing))).toBe(
    `error: ENOENT: no such file or directory, open '${missing}'. Check that path, its rights and the free space.\n`,
  );
  expect(await reported(() => JSON.parse('{'))).toMatch(/^internal error: .* This is a bug in Caisson/);
});
