import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, createLiveConfig, explainConfig, loadConfig, type ConfigChange } from './index.ts';

let root: string;
const HOME_ENV = { HOME: '/home/someone' };
/** As if the user had agreed to everything. */
const decideTrust = () => Promise.resolve({ kind: 'granted', digest: '' } as const);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'caisson-config-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(text: string): string {
  const file = join(root, 'caisson.yaml');
  writeFileSync(file, text);
  return file;
}

async function refused(text: string | Buffer): Promise<ConfigError> {
  const file = join(root, 'caisson.yaml');
  writeFileSync(file, text);
  const error: unknown = await loadConfig({ cwd: root, env: HOME_ENV }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  expect(readFileSync(file)).toEqual(Buffer.from(text));
  return error as ConfigError;
}

describe('which value wins', () => {
  it('flag beats env beats file beats default, and each knows its source', async () => {
    const file = write('limits:\n  timeout: 10m\n  memory: 1g\n  pids: 64\n');
    const options = {
      cwd: root,
      env: { ...HOME_ENV, CAISSON_LIMITS_MEMORY: '2g', CAISSON_LIMITS_PIDS: '128' },
      flags: { 'limits.pids': '256' },
    } as const;
    const config = await loadConfig(options);
    expect(config.limits).toMatchObject({
      timeoutMs: 600_000,
      memoryBytes: 2 * 1024 ** 3,
      pids: 256,
      queue: 1000,
    });
    expect(
      (['limits.timeout', 'limits.memory', 'limits.pids', 'limits.queue'] as const).map(config.sourceOf),
    ).toEqual(['file', 'env', 'flag', 'default']);
    const { rows } = await explainConfig(options);
    expect(
      rows.filter((row) => ['limits.timeout', 'limits.memory', 'limits.pids'].includes(row.key)),
    ).toEqual([
      { key: 'limits.timeout', value: 600_000, source: 'file', from: file, line: 2 },
      { key: 'limits.memory', value: 2 * 1024 ** 3, source: 'env', from: 'CAISSON_LIMITS_MEMORY' },
      { key: 'limits.pids', value: 256, source: 'flag', from: '--pids' },
    ]);
  });

  it('an empty variable is unset, and a bad one is named', async () => {
    const env = { ...HOME_ENV, CAISSON_MODE: '' };
    expect((await loadConfig({ cwd: root, env })).mode).toBe('auto-edit');
    await expect(loadConfig({ cwd: root, env: { ...HOME_ENV, CAISSON_MODE: 'ful-auto' } })).rejects.toThrow(
      /^CAISSON_MODE: "ful-auto" is not a value for mode: .* Did you mean "full-auto"\?$/,
    );
    await expect(
      loadConfig({ cwd: root, env: HOME_ENV, flags: { 'limits.timeout': 'soon' } }),
    ).rejects.toThrow(/^--timeout: "soon" is not a value for limits\.timeout: "soon" is not a duration/);
  });

  it('explains what else the file says, with its line', async () => {
    write('agents:\n  reviewer:\n    runtime: codex\nnetwork:\n  hosts: ["a:443", "b:443"]\n');
    const { rows } = await explainConfig({ cwd: root, env: HOME_ENV });
    expect(
      rows.filter((row) => row.source === 'file').map(({ key, value, line }) => ({ key, value, line })),
    ).toEqual([
      { key: 'agents.reviewer.runtime', value: 'codex', line: 3 },
      { key: 'network.hosts', value: ['a:443', 'b:443'], line: 5 },
    ]);
  });

  it('paths are made absolute from the project, also for ~ and from a subfolder', async () => {
    write('state: var/state\ncapabilities: { tidy: caps/tidy }\nsandbox: { toolchains: ["~/.cargo"] }\n');
    mkdirSync(join(root, 'deep'));
    const config = await loadConfig({ cwd: join(root, 'deep'), env: HOME_ENV, decideTrust });
    expect(config.stateDir).toBe(join(root, 'var/state'));
    expect(config.capabilities).toEqual({ tidy: join(root, 'caps/tidy') });
    expect(config.sandbox.toolchains).toEqual(['/home/someone/.cargo']);
    expect(config.folders.cache).toBe('/home/someone/.cache/caisson');
  });
});

describe('what is refused', () => {
  it('an unknown key is named with line, column and the key that was meant', async () => {
    const error = await refused('mode: suggest\nlimts:\n  timeout: 5m\n');
    expect(error.problems).toEqual([
      {
        file: join(root, 'caisson.yaml'),
        line: 2,
        column: 1,
        message: 'unknown key "limts" at the top level.',
        suggestion: 'Did you mean "limits"?',
      },
    ]);
    const nested = await refused('runtimes:\n  codex:\n    apikey: env:K\n');
    expect(nested.problems[0]).toMatchObject({ line: 3, column: 5, suggestion: 'Did you mean "apiKey"?' });
  });

  it('every problem is listed, in the order of the file', async () => {
    const error = await refused(
      'mode: sugest\nlimits:\n  concurrency: many\n  timeout: soon\ncallbacks:\n  - url: nope\n',
    );
    expect(error.problems.map((problem) => [problem.line, problem.column, problem.message])).toEqual([
      [1, 7, 'mode: expected one of "suggest"|"auto-edit"|"full-auto".'],
      [3, 16, 'limits.concurrency: expected a number, not text.'],
      [4, 12, expect.stringContaining('"soon" is not a duration')],
      [6, 10, 'callbacks[0].url: must be an address that begins with http:// or https://.'],
    ]);
    expect(error.problems[0].suggestion).toBe('Did you mean "suggest"?');
  });

  it('words that only some places know are checked too, with what was meant', async () => {
    const first = async (text: string) => {
      const { line, column, message, suggestion } = (await refused(text)).problems[0];
      return [line, column, message, suggestion];
    };
    const rule = (text: string) => first(`policy: { rules: [ { ${text}, reason: x } ] }\n`);
    expect(await rule('path: a, action: no-acces')).toEqual([
      1,
      39,
      "policy.rules[0].action: expected one of 'no-access' | 'read-only' | 'no-delete' | 'deny'.",
      'Did you mean "no-access"?',
    ]);
    for (const path of ['../up.key', 'a/../../up.key', '..'])
      expect((await rule(`path: ${path}, action: no-access`))[2]).toBe(
        'policy.rules[0].path: must not contain "..": a name without a slash counts in all of the repository, also above the project.',
      );
    expect(await rule('path: a, action: no-access, raeson: x')).toEqual([
      1,
      50,
      'unknown key "raeson" in policy.rules[0].',
      'Did you mean "reason"?',
    ]);
    expect(await first('callbacks: [ { url: "http://127.0.0.1/", when: [dispatch.finishd] } ]\n')).toEqual([
      1,
      49,
      expect.stringContaining('callbacks[0].when[0]: expected one of'),
      'Did you mean "dispatch.finished"?',
    ]);
    expect(await first('runtimes:\n  codx: { bin: codex }\n')).toEqual([
      2,
      9,
      expect.stringMatching(/^runtimes\.codx: no such runtime; .* Did you mean "codex"\?$/),
      undefined,
    ]);
    expect(await first('pipelines:\n  gated: { blocks: [ { kind: agent } ] }\n')).toEqual([
      2,
      3,
      expect.stringContaining("a pipeline's name is <pack>.<name>"),
      undefined,
    ]);
    expect(await first('mode: suggest\n---\nmode: suggest\n')).toEqual([
      2,
      1,
      expect.stringContaining('only one is read'),
      undefined,
    ]);
  });

  it.each([
    ['limits: { memory: [] }', 19, 'limits.memory: expected a size with its unit, for example 512m or 4g.'],
    [
      'limits: { trash: 2000000 }',
      18,
      'limits.trash: expected a size with its unit, for example 512m or 4g.',
    ],
    ['limits: { timeout: null }', 20, 'limits.timeout: expected a duration, for example 90s or 1h30m.'],
    ['limits: null', 9, 'limits: expected a map, not nothing (null).'],
    ['limits: { pids: 1.5 }', 17, 'limits.pids: expected a whole number.'],
    ['limits: { pids: .nan }', 17, 'limits.pids: expected a number, not a value that is no number.'],
    ['limits: { pids: 0 }', 17, 'limits.pids: must be at least 1.'],
    ['limits: { cpus: 0 }', 17, 'limits.cpus: must be more than 0.'],
    ['limits: { depth: 99 }', 18, 'limits.depth: must be at most 16.'],
    ['state: ""', 8, 'state: must not be empty.'],
    ['state: "a\\0b"', 8, 'state: must not contain a NUL character.'],
    ['pipelines: { a.b: { blocks: [] } }', 29, 'pipelines.a.b.blocks: must not be empty.'],
    ['runtimes: [codex]', 11, 'runtimes: expected a map, not a list.'],
    ['network: { hosts: ["a:0"] }', 20, /hosts\[0\]: must be host:port in lowercase, for example/],
    ['network: { hosts: ["a:65536"] }', 20, /hosts\[0\]: must be host:port/],
    ['network: { hosts: ["http://a"] }', 20, /hosts\[0\]: must be host:port/],
    ['callbacks: [ { url: "ftp://a/" } ]', 21, /url: must be an address that begins with http/],
    ['callbacks: [ { key: "env:K" } ]', 14, 'callbacks[0].url: is missing; expected text.'],
    ['envs: { a: { values: { 1A: x } } }', 24, /values\.1A: the name of a variable has letters/],
    ['agents: { r: { fragments: { A: x } } }', 29, /fragments\.A: the name of a fragment has/],
    [
      'agents: { R: {} }',
      11,
      'agents.R: a name has lowercase letters, digits, dots, dashes and underscores.',
    ],
    ['a: *b', 4, 'not usable YAML: no anchor &b before this alias.'],
    [`a: ${'['.repeat(5000)}`, expect.any(Number), 'not valid YAML: it is nested too deeply.'],
  ])('%s is refused in words for the one who wrote it', async (text, column, message) => {
    const [problem] = (await refused(`${text}\n`)).problems;
    expect(problem).toMatchObject({ line: 1, column });
    if (typeof message === 'string') expect(problem.message).toBe(message);
    else expect(problem.message).toMatch(message);
  });

  it('a key that another kind of rule has is not suggested to itself', async () => {
    const error = await refused('policy: { rules: [ { path: a, action: deny, reason: x } ] }\n');
    expect(error.problems.map(({ message, suggestion }) => [message, suggestion])).toEqual([
      ['policy.rules[0].command: is missing; expected text.', undefined],
      ['unknown key "path" in policy.rules[0].', 'Known keys: command, action, reason.'],
    ]);
  });

  it('a runtime of your own has an adapter or speaks a protocol', async () => {
    write('runtimes: { mine: { adapter: ./a.mjs }, qwen: { bin: qwen, settings: { protocol: acp } } }\n');
    const { runtimes } = await loadConfig({ cwd: root, env: HOME_ENV, decideTrust });
    expect(Object.keys(runtimes)).toEqual(['mine', 'qwen']);
  });

  it('a key that is a secret itself is refused without being repeated', async () => {
    const error = await refused('runtimes:\n  codex:\n    apiKey: sk-verysecret\n');
    expect(error.message).toMatch(
      /caisson\.yaml:3:13: runtimes\.codex\.apiKey: must say where the secret is/,
    );
    expect(error.message).not.toContain('verysecret');
  });

  it('malformed YAML, duplicate keys, a list, alias bombs and bytes that are not text', async () => {
    expect((await refused('limits: { timeout: 5m\nmode: x\n')).problems[0]).toMatchObject({ line: 2 });
    expect((await refused('mode: suggest\nmode: suggest\n')).message).toMatch(
      /:2:1: not valid YAML: .*unique/,
    );
    expect((await refused('- a\n- b\n')).message).toMatch(/the file: expected a map, not a list/);
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x,x]',
      ...'bcdefg'
        .split('')
        .map((name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcdef'[index]}`).join(',')}]`),
    ];
    expect((await refused(bomb.join('\n'))).message).toMatch(/not usable YAML/);
    expect((await refused(Buffer.from([0x6d, 0xff, 0xfe, 0x00]))).message).toMatch(/not UTF-8/);
  });

  it.each([
    ['a folder', (file: string) => mkdirSync(file), 'is a folder.'],
    [
      'a link that leads nowhere',
      (file: string) => symlinkSync('gone.yaml', file),
      'it is a link to something that does not',
    ],
    ['a link to itself', (file: string) => symlinkSync(file, file), 'it is a link to itself'],
    ['a device', (file: string) => symlinkSync('/dev/zero', file), 'is not a regular file.'],
    ['a pipe without a writer', (file: string) => execFileSync('mkfifo', [file]), 'is not a regular file.'],
    ['far too long', (file: string) => writeFileSync(file, '# '.repeat(600_000)), 'is 1200000 bytes long'],
  ])('%s is refused with its path, at once', async (_what, make, message) => {
    const file = join(root, 'caisson.yaml');
    make(file);
    await expect(loadConfig({ cwd: root, env: HOME_ENV })).rejects.toThrow(
      `${file}: ${message.startsWith('it is') ? 'cannot be read: ' : ''}${message}`,
    );
  });

  it.each([
    ['/dev/null', 'is not a folder.'],
    ['/proc', 'is a folder of the system.'],
    ['/sys/kernel', 'is a folder of the system.'],
  ])('a HOME that is %s is refused', async (home, message) => {
    await expect(loadConfig({ cwd: root, env: { HOME: home } })).rejects.toThrow(`HOME: ${home} ${message}`);
  });

  it('an empty file says nothing, and a read-only one is enough', async () => {
    const file = write('# nothing yet\n');
    chmodSync(file, 0o400);
    expect((await loadConfig({ cwd: root, env: HOME_ENV })).mode).toBe('auto-edit');
  });
});

it('a reload reports what changed; one that fails changes nothing', async () => {
  write('mode: suggest\n');
  const changes: ConfigChange[] = [];
  const live = await createLiveConfig({ cwd: root, env: HOME_ENV, decideTrust }, (change) =>
    changes.push(change),
  );
  write('mode: full-auto\nnetwork: { hosts: ["a:443"] }\n');
  await live.reload();
  expect(changes).toEqual([
    { key: 'mode', previous: 'suggest', new: 'full-auto' },
    { key: 'network.hosts', previous: null, new: ['a:443'] },
  ]);
  write('mode: nonsense\n');
  await expect(live.reload()).rejects.toThrow(ConfigError);
  expect(live.current.mode).toBe('full-auto');
});
