import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeAsks } from '../trust/describe-asks.ts';
import { ConfigError, loadConfig } from './index.ts';

const ENV = { HOME: '/home/someone' };
/** As if the user had agreed to everything. */
const decideTrust = () => Promise.resolve({ kind: 'granted', digest: '' } as const);

function makeProject(text: string): { root: string; file: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-residents-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const file = join(root, 'caisson.yaml');
  writeFileSync(file, text);
  return { root, file };
}

async function problemsOf(text: string): Promise<string[]> {
  const { root, file } = makeProject(text);
  const error: unknown = await loadConfig({ cwd: root, env: ENV }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).lines.map((line) => line.replace(file, 'FILE'));
}

const COMPLETE = `
senses:
  tests: { file: senses/tests.ts, interval: 1s, on: [signal: a, files: 'src/**', runs: error] }
workflows:
  fix: { file: ./workflows/fix.mjs, on: [red] }
schedules:
  nightly: { cron: "0 3 * * *", timezone: Europe/Berlin, task: Update the docs }
`;

test('what is not written has its default, and files are absolute', async () => {
  const { root } = makeProject(COMPLETE);
  const config = await loadConfig({ cwd: root, env: ENV, decideTrust });
  const grant = {
    read: [],
    write: [],
    hosts: [],
    limits: { memory: 512 * 1024 ** 2, pids: 128, disk: 256 * 1024 ** 2 },
    chosenLimits: [],
    crashes: { limit: 5, windowMs: 60_000 },
  };
  expect(config.senses).toEqual({
    tests: {
      name: 'tests',
      file: join(root, 'senses/tests.ts'),
      group: 'tests',
      intervalMs: 1000,
      on: [
        { kind: 'signal', name: 'a' },
        { kind: 'files', pattern: 'src/**' },
        { kind: 'runs', statuses: ['error'] },
      ],
      throttleMs: 0,
      allowLoop: false,
      timeoutMs: 30_000,
      graceMs: 5000,
      grant,
    },
  });
  expect(config.workflows).toEqual({
    fix: {
      name: 'fix',
      file: join(root, 'workflows/fix.mjs'),
      on: ['red'],
      concurrency: 1,
      overflow: 'queue',
      maxQueue: 100,
      maxRounds: 50,
      timeoutMs: 3_600_000,
      graceMs: 5000,
      mode: 'auto-edit',
      runHosts: [],
      runBudgetUsd: null,
      runTokens: null,
      grant,
    },
  });
  expect(config.schedules).toEqual({
    nightly: {
      name: 'nightly',
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      task: 'Update the docs',
      jitterMs: 0,
      catchUp: 'skip',
      timeoutMs: null,
    },
  });
});

test('nothing of it has an effect before the user agrees, and each entry is one question with its grant', async () => {
  const { root } = makeProject(
    'senses:\n  ci: { file: ci.ts, interval: 1m, timeout: 5s, hosts: ["ci.example:443"] }\n',
  );
  writeFileSync(join(root, 'ci.ts'), 'export default {}');
  const config = await loadConfig({ cwd: root, env: ENV });
  expect([config.senses, config.trust.kind]).toEqual([{}, 'required']);
  const [line] = await describeAsks(root, config.asked.asks);
  expect(line?.key).toBe('senses.ci');
  expect(line?.value).toContain('ci.example:443');
  expect(line?.meaning).toMatch(/^runs this code by itself, .* in a sandbox/);
  expect(line?.files).toEqual([]); // it is edited while it runs
});

test.each([
  [
    'senses:\n  a: { file: a.ts }\n',
    'FILE:2:6: senses.a: nothing starts it; it needs an interval, or an on with an entry.',
  ],
  [
    'senses:\n  a:\n    file: ../a.ts\n    interval: 1s\n',
    'FILE:3:11: senses.a.file: "../a.ts" is outside of the project.',
  ],
  [
    'workflows:\n  w: { file: /etc/passwd }\n',
    'FILE:2:14: workflows.w.file: "/etc/passwd" is outside of the project.',
  ],
  [
    'workflows:\n  w: { file: w.py }\n',
    'FILE:2:14: workflows.w.file: "w.py" must end with .ts, .mts, .js, .mjs.',
  ],
  [
    'senses:\n  a: { file: a.ts, interval: 1s, group: g }\n  b: { file: b.ts, interval: 1s, group: g, memory: 1g }\n',
    'FILE:3:6: senses.b: it shares the sandbox of the group "g" with senses.a, so both must declare the same read, write, hosts, memory, cpus, pids, disk, crashLimit and crashWindow.',
  ],
  [
    'senses:\n  a: { file: a.ts, on: [{ files: "w/+(a|aa)b" }] }\n',
    'FILE:2:34: senses.a.on.0.files: the pattern "w/+(a|aa)b" repeats a group, or has one in another, which could take too long; write several patterns.',
  ],
  [
    'senses:\n  a: { file: a.ts, on: [{ files: "src/**" }, { files: .git/HEAD }] }\n',
    'FILE:2:55: senses.a.on: ".git/HEAD" would never start it: changes in .git are not watched. Use an interval.',
  ],
  [
    'senses:\n  a: { file: a.ts, on: [{ files: "**/node_modules/x/*.js" }] }\n',
    'FILE:2:34: senses.a.on: "**/node_modules/x/*.js" would never start it: changes in node_modules are not watched. Use an interval.',
  ],
  [
    'policy:\n  rules:\n    - { action: no-access, path: "*a*a*a[b]", reason: x }\n',
    'FILE:3:34: policy.rules.0.path: the pattern "*a*a*a[b]" has more than 2 stars beside brackets, which could take too long; write several patterns.',
  ],
  [
    'senses:\n  a: { file: a.ts, interval: 1s, read: [../b] }\n',
    'FILE:2:40: senses.a.read: "../b" leaves the project; write the whole path of a folder outside of it.',
  ],
  ...['.', '.git', '.git/hooks', 'src', 'src/a.ts', '/'].map((folder) => [
    `senses:\n  a: { file: src/a.ts, interval: 1s, write: [${folder}] }\n`,
    `FILE:2:45: senses.a.write: "${folder}" may not be writable: ${folder.startsWith('src') ? 'src/a.ts' : '.git'} decides what runs, or when.`,
  ]),
  [
    'senses:\n  a: { file: a.ts, interval: 1s, write: [out] }\nworkflows:\n  w: { file: w.ts, read: [out/in] }\n',
    'FILE:4:26: workflows.w.read: "out/in" is inside "out", which senses.a.write makes writable: its code could replace it.',
  ],
  [
    'schedules:\n  s: { cron: "0 25 * * *", task: x }\n',
    'FILE:2:14: schedules.s.cron: Invalid value for hour: 25.',
  ],
  [
    'schedules:\n  s: { cron: "0 3 * *", task: x }\n',
    'FILE:2:14: schedules.s.cron: "0 3 * *" has 4 fields; it needs five (minute, hour, day of the month, month, day of the week), or six with seconds first, such as "0 3 * * *" for 03:00 each day.',
  ],
  [
    'schedules:\n  s: { cron: "0 0 3 * * * 2030", task: x }\n',
    'FILE:2:14: schedules.s.cron: "0 0 3 * * * 2030" has 7 fields; it needs five (minute, hour, day of the month, month, day of the week), or six with seconds first, such as "0 3 * * *" for 03:00 each day.',
  ],
  [
    'schedules:\n  s: { cron: "0 0 31 2 *", task: x }\n',
    'FILE:2:14: schedules.s.cron: "0 0 31 2 *" is a time that never comes.',
  ],
  [
    'schedules:\n  s: { cron: "*/30 9-17 * * 1-5", task: x, jitter: 31m }\n',
    'FILE:2:52: schedules.s.jitter: 31m is longer than 30m, the shortest time between two times of "*/30 9-17 * * 1-5": the later one would be missed. Use at most 30m.',
  ],
  [
    'schedules:\n  s: { cron: "0 3 * * *", timezone: Mars/Base, task: x }\n',
    'FILE:2:37: schedules.s.timezone: there is no time zone "Mars/Base"; use a name such as Europe/Berlin.',
  ],
  [
    'schedules:\n  s: { cron: "0 3 * * *", task: x, apply: true }\n',
    'FILE:2:36: unknown key "apply" in schedules.s. A schedule has no such option: nobody looks at your files while it runs; use branch, or caisson apply afterwards.',
  ],
  [
    'schedules:\n  s: { cron: "0 3 * * *", task: x, network: none, hosts: ["a.example:443"] }\n',
    'FILE:2:6: schedules.s: network and hosts are one option of a run: leave one of them out.',
  ],
  [
    'schedules:\n  s: { cron: "0 3 * * *" }\n',
    'FILE:2:6: schedules.s: it starts exactly one of task, command and workflow, and none is set.',
  ],
  [
    'schedules:\n  s: { cron: "0 3 * * *", task: x, command: [y] }\n',
    'FILE:2:6: schedules.s: it starts exactly one of task, command and workflow, and 2 are set.',
  ],
  [
    'workflows:\n  fix: { file: a.ts }\nschedules:\n  s: { cron: "0 3 * * *", workflow: fux }\n',
    'FILE:4:6: schedules.s: there is no workflow "fux". Did you mean "fix"?',
  ],
  [
    'workflows:\n  fix: { file: a.ts }\nschedules:\n  s: { cron: "0 3 * * *", workflow: fix, model: m }\n',
    'FILE:4:6: schedules.s: model is for runs, and this starts a thread of a workflow.',
  ],
  [
    'senses:\n  a: { file: a.ts, intervall: 1s }\n',
    'FILE:2:20: unknown key "intervall" in senses.a. Did you mean "interval"?',
  ],
])('a wrong value is refused with its place: %j', async (text, problem) => {
  expect(await problemsOf(text)).toEqual([problem]);
});

test('folders of the project and beside it may be granted, and one folder to several', async () => {
  const { root } = makeProject(
    'senses:\n  a: { file: a.ts, interval: 1s, read: [data, /srv/in], write: [out] }\nworkflows:\n  w: { file: w.ts, read: [out] }\n',
  );
  const { senses, workflows } = await loadConfig({ cwd: root, env: ENV, decideTrust });
  expect([senses['a']?.grant.read, senses['a']?.grant.write, workflows['w']?.grant.read]).toEqual([
    [join(root, 'data'), '/srv/in'],
    [join(root, 'out')],
    [join(root, 'out')],
  ]);
});

test('the question names the folders that it may write to, and the addresses that it may reach', async () => {
  const { root } = makeProject(
    'senses:\n  a: { file: a.ts, interval: 1s, write: [out, /srv/b], hosts: ["127.0.0.1:18811"] }\n',
  );
  const { asked } = await loadConfig({ cwd: root, env: ENV });
  const [line] = await describeAsks(root, asked.asks);
  expect(line?.meaning).toMatch(/; it may write to out, \/srv\/b; it may reach 127\.0\.0\.1:18811$/);
});

test('a link that leaves the project is refused, one inside is not', async () => {
  const { root } = makeProject('workflows:\n  w: { file: flows/w.ts }\n');
  const outside = mkdtempSync(join(tmpdir(), 'caisson-outside-'));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'w.ts'), '');
  symlinkSync(outside, join(root, 'flows'));
  await expect(loadConfig({ cwd: root, env: ENV })).rejects.toThrow(
    'workflows.w.file: "flows/w.ts" is a link that leaves the project.',
  );
  rmSync(join(root, 'flows'));
  mkdirSync(join(root, 'real'));
  writeFileSync(join(root, 'real', 'w.ts'), '');
  symlinkSync('real', join(root, 'flows'));
  await loadConfig({ cwd: root, env: ENV });
});

test('who only reads gets the rest of the file, and what is wrong', async () => {
  const { root } = makeProject('senses:\n  a: { file: a.ts }\nmode: suggest\n');
  const config = await loadConfig({ cwd: root, env: ENV, decideTrust, startsNothing: true });
  expect([config.senses, config.mode, config.unread?.length]).toEqual([{}, 'suggest', 1]);
});

test("the user's own file, which is for every project, has none", async () => {
  const { root } = makeProject('');
  const home = join(root, 'home', '.config', 'caisson');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'config.yaml'), 'schedules: {}\n', { mode: 0o600 });
  await expect(loadConfig({ cwd: root, env: { HOME: join(root, 'home') } })).rejects.toThrow(
    'schedules belong to one project.',
  );
});

test('a group has at most as many senses as one process loads', async () => {
  const sense = (n: number): string => `  s${n}: { file: s.ts, interval: 1s, group: all }\n`;
  const group = (size: number): string =>
    `senses:\n${Array.from({ length: size }, (_, n) => sense(n)).join('')}`;
  expect(await problemsOf(group(258))).toEqual([
    'FILE:258:9: senses.s256: the group "all" has more than 256 senses. Use several groups.',
  ]);
  const { root } = makeProject(group(256));
  expect(Object.keys((await loadConfig({ cwd: root, env: ENV, decideTrust })).senses)).toHaveLength(256);
});
