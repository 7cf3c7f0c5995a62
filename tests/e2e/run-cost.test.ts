/** What a run costs, in numbers that no load of the machine changes; and machines on which it has to work as well. */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { DispatchResult } from '@caisson/protocol';
import { startModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { BIN, createProject, ROOT, type Project } from './project.ts';
import { traceCaisson, type TraceOptions } from './traced-run.ts';

const NO_OP = ['run', '-o', 'json', '--workspace', 'empty', '--', 'true'];
/** One more than was counted: an event that waits too long for the next one is a commit of its own. */
const MOST_COMMITS = 7;
const MOST_SYNCS = 16;
const MOST_SYNCS_IN_A_ROW = 60;

const count = (log: string, pattern: RegExp): number => log.match(pattern)?.length ?? 0;

it('a command that does nothing takes seven programs, few commits and few syncs', async () => {
  const project = createProject({ git: false });
  await project.caisson(...NO_OP); // the first one makes the folders
  const { log } = traceCaisson(
    project,
    { calls: 'execve,fsync,fdatasync,openat', isByProcess: true },
    ...NO_OP,
  );
  const programs = [...log.matchAll(/execve\("([^"]*)"/g)].map(([, file = '']) => basename(file));
  const [host, worker] = ['node', 'node'];
  const [helper, join, gate] = ['perl', 'sh', 'sh'];
  expect(programs.toSorted()).toEqual([host, worker, helper, join, 'bwrap', gate, 'true'].toSorted());
  expect(count(log, /sync\(\d+<[^>]*ledger\S*-wal>/g)).toBeLessThanOrEqual(MOST_COMMITS);
  expect(count(log, /sync\(/g)).toBeLessThanOrEqual(MOST_SYNCS);
  expect(listLoaded(log, '/dist/')).toContain('worker.cjs');
  expect(listLoaded(log, '/dist/').filter((file) => /zod|policy/.test(file))).toEqual([]);
});

/** Paths in the state folder that one run by library call syncs. */
function traceSyncs(project: Project, argv: readonly string[]): string[] {
  const marks = mkdtempSync(join(project.root, '../marks-'));
  const [log, request] = [join(marks, 'log'), { argv, workspace: 'empty' }];
  const scratch = { root: marks, project: project.root, env: {} };
  const order = { scratch, work: { kind: 'dispatch', request }, marks, warmUps: 2, times: 1 };
  const host = [process.execPath, join(ROOT, 'bench/cost/host.ts'), JSON.stringify(order)];
  const words = [
    '-f',
    '--seccomp-bpf',
    '-qq',
    '-y',
    '-o',
    log,
    '-e',
    'trace=fsync,fdatasync,openat',
    ...host,
  ];
  execFileSync('strace', words, { cwd: project.root, env: project.env, stdio: 'ignore' });
  const calls = readFileSync(log, 'utf8');
  const run = calls.slice(calls.indexOf(`${marks}/begin`), calls.indexOf(`${marks}/end`));
  return [...run.matchAll(/sync\(\d+<[^>]*\/\.caisson\/([^>]*)>/g)].map(([, path = '']) =>
    path.replace(/[0-9a-f]{24}|run_\w+/, 'NAME').replace(/blobs\/../, 'blobs/XX'),
  );
}

const isOfRun = (path: string): boolean => !/^ledger|^store\/blobs$/.test(path);
/** What was captured with the result, then manifest and envelope. */
const TWO_PACKS = ['store/packs', 'store/packs', 'store/tmp/NAME', 'store/tmp/NAME'];
const ATTEMPT_FOLDER = ['worktrees', 'worktrees/NAME.1'];

it('a run by library call is four commits, and waits for the disk for nothing that can be made again', () => {
  const synced = traceSyncs(createProject({ git: false }), ['true']);
  const commits = synced.filter((path) => path === 'ledger.db-wal');
  // One more where the machine is so slow that an event waits too long for the next one.
  expect([4, 5]).toContain(commits.length);
  expect(synced.filter(isOfRun).toSorted()).toEqual([...TWO_PACKS, ...ATTEMPT_FOLDER]);
});

it('a run with several captures waits for the disk as often as one with none; a large one is a file of its own', () => {
  const small = 'date +%N; date +%N >&2; mkdir outputs; for n in 1 2 3; do date +%N > outputs/$n; done';
  const project = createProject({ git: false });
  const listStored = (script: string): string[] =>
    traceSyncs(project, ['sh', '-ec', script]).filter((path) => isOfRun(path) && path.startsWith('store/'));
  expect(listStored(small).toSorted()).toEqual(TWO_PACKS);
  const large = [...TWO_PACKS, 'store/blobs/XX', 'store/tmp/NAME'];
  expect(listStored(`${small}; head -c 70000 /dev/urandom > outputs/4`).toSorted()).toEqual(large.toSorted());
});

it('a client loads the configuration once, where a daemon answers it', async () => {
  const project = createProject({ config: 'network: { hosts: ["example.invalid:443"] }\n' });
  await project.trust();
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  expect((await project.caisson('up', '-d')).code).toBe(0);
  const { log } = traceCaisson(project, { calls: 'openat' }, ...NO_OP);
  expect(log.match(/"[^"]*caisson\.yaml"/g)).toHaveLength(1);
});

it('the network of an attempt is open before its first program is started', async () => {
  const project = createProject({ git: false, config: 'network: { hosts: ["example.invalid:443"] }\n' });
  await project.trust();
  const { log } = traceCaisson(project, { calls: 'listen,execve,write' }, ...NO_OP);
  const lines = log.split('\n');
  const ready = lines.findIndex((line) => line.includes('worker.ready'));
  const listening = lines.findIndex((line, at) => at > ready && / listen\(/.test(line));
  const launched = lines.findIndex((line) => line.includes('/bwrap", ["') && line.includes('"--args"'));
  expect(ready).toBeGreaterThanOrEqual(0);
  expect(listening).toBeGreaterThan(ready);
  expect(launched).toBeGreaterThan(listening);
});

/** Files below such a folder that were opened. */
function listLoaded(log: string, folder: string): string[] {
  const opened = [...log.matchAll(/openat\([^"]*"([^"]*)"/g)].map(([, file = '']) => file);
  return opened.filter((file) => file.includes(folder)).map((file) => basename(file));
}

it('on a disk whose every sync takes 5 ms a run does and records the same', async () => {
  const project = createProject();
  const edit = ['run', '-o', 'json', '--', 'sh', '-ec', 'echo hi; echo new > new.txt'];
  const { stdout, log } = traceCaisson(project, { ...slowSyncs(5), showsTimes: true }, ...edit);
  const run = JSON.parse(stdout) as DispatchResult;
  const fast = JSON.parse((await project.caisson(...edit)).stdout) as DispatchResult;
  expect(count(log, /\(DELAYED\)/g)).toBeGreaterThan(10);
  // Those that wait together count once, whatever else the machine does.
  expect(syncingMs(log)).toBeLessThan(MOST_SYNCS_IN_A_ROW * 5);
  expect(withoutIds(run)).toEqual(withoutIds(fast));
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
  const typesOf = async (id: string): Promise<string[]> => (await project.events(id)).map(({ type }) => type);
  expect(await typesOf(run.runId)).toEqual(await typesOf(fast.runId));
});

it('what a run stores is synced together, and its host looks through no list of processes', () => {
  const edit = ['run', '-o', 'json', '--', 'sh', '-ec', 'echo hi; echo new > new.txt'];
  // Long enough to overlap on a machine that is busy with something else.
  const { log } = traceCaisson(createProject(), slowSyncs(100), ...edit);
  const synced = [...log.matchAll(/sync\(\d+<\S*(results|store\/tmp|\.git\/refs)\//g)].map(
    ([, what]) => what,
  );
  expect(synced, 'the host stores the bytes of the result').not.toContain('results');
  expect(synced.at(0), 'stored beside the checkpoint').toBe('store/tmp');
  const stored = synced.filter((what) => what === 'store/tmp');
  expect(stored, 'the request; patch, reply, output and result; the seal').toHaveLength(3);
  expect(synced).toContain('.git/refs');
  const [host] = log.split(' ', 1);
  const looks = log.split('\n').filter((line) => line.startsWith(`${host} `) && line.includes('"/proc", '));
  expect(looks).toEqual([]);
});

/** How long at least one sync was under way. */
function syncingMs(log: string): number {
  const underWay = new Set<string>();
  let [sinceMs, sumMs] = [0, 0];
  for (const line of log.split('\n')) {
    const [, pid = '', seconds = '', rest = ''] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    const wasIdle = underWay.size === 0;
    if (/^f(data)?sync\(/.test(rest)) underWay.add(pid);
    if (wasIdle) sinceMs = Number(seconds) * 1000;
    if (!/sync/.test(rest) || rest.includes('<unfinished')) continue;
    underWay.delete(pid);
    if (underWay.size === 0) sumMs += Number(seconds) * 1000 - sinceMs;
  }
  return sumMs;
}

function slowSyncs(delayMs: number): TraceOptions {
  const inject = `fsync,fdatasync:delay_exit=${delayMs * 1000}`;
  return { calls: 'fsync,fdatasync,openat', inject, showsOverlaps: true };
}

/** What two runs of the same command have in common. */
function withoutIds({ runId, status, exitCode, result }: DispatchResult): unknown {
  const { patchRef, reply, outputs, blocks, policy, logs } = result ?? {};
  const timeless = blocks?.map((block) => ({ ...block, durationMs: 0 }));
  const text = JSON.stringify({ status, exitCode, patchRef, reply, outputs, blocks: timeless, policy, logs });
  return JSON.parse(text.replaceAll(runId, 'RUN')) as unknown;
}

/** The CLI where nothing can start Perl. */
async function runWithoutPerl({ root, env }: Project, ...args: string[]): Promise<DispatchResult> {
  const hide =
    'for perl in /usr/bin/perl /usr/local/bin/perl; do [ ! -e $perl ] || mount --bind /dev/null $perl; done';
  const own = process.getuid?.() === 0 ? '-m' : '-rm';
  const words = [
    own,
    'sh',
    '-ec',
    `${hide}; exec "$@"`,
    'sh',
    process.execPath,
    BIN,
    'run',
    '-o',
    'json',
    ...args,
  ];
  const { stdout } = await promisify(execFile)('unshare', words, { cwd: root, env });
  return JSON.parse(stdout) as DispatchResult;
}

it('without Perl a run says what is not enforced, and the folders that it brings are read-only', async () => {
  const project = createProject();
  project.write('package.json', '{}\n');
  project.write('.gitignore', 'node_modules/\n');
  project.git('add', '.');
  project.git('commit', '-qm', 'all');
  project.write('node_modules/a/index.js', '1\n');
  const edit = 'cat node_modules/a/index.js; echo x > new.txt; ! echo 2 > node_modules/a/index.js';
  const { status, result } = await runWithoutPerl(project, '--', 'sh', '-ec', edit);
  expect([status, result?.reply.head]).toEqual(['done', '1']);
  expect(result?.patchRef).toBeDefined();
  expect(result?.policy.enforced).toMatchObject({
    inotify: false,
    readOnlyLayers: [join(project.root, 'node_modules')],
  });
});

it('without Perl an agent reaches its model', async () => {
  const apiKey = 'sk-ant-real-Zq81xP0vTn55LmRw7YbKc2';
  const model = await startModelServer({ apiKey, script: [{ when: 'ask', turns: [{ say: 'Done.' }] }] });
  onTestFinished(() => model.stop());
  const place = `bin: ./asking-agent.mjs, endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: "claude-sonnet-4-5"`;
  const env = 'ASK_URL: "{endpoint}", ASK_KEY: "{key}", ASK_TIMES: "1"';
  const settings = `{ protocol: acp, api: anthropic-messages, env: { ${env} } }`;
  const config = `runtimes:\n  asking: { ${place}, settings: ${settings} }\n`;
  const project = createProject({ env: { MODEL_KEY: apiKey }, config });
  copyFileSync(join(ROOT, 'tests/e2e/fixtures/asking-agent.mjs'), join(project.root, 'asking-agent.mjs'));
  chmodSync(join(project.root, 'asking-agent.mjs'), 0o755);
  project.env['XDG_CACHE_HOME'] = join(project.env['HOME'] ?? '', 'cache');
  await project.trust();
  expect((await runWithoutPerl(project, '--runtime', 'asking', 'ask')).status).toBe('done');
  expect(model.requests).toHaveLength(1);
  await project.caisson(...NO_OP);
  const cached = readdirSync(join(project.env['XDG_CACHE_HOME'], 'caisson/compile'), { recursive: true });
  const uses = cached
    .map((file) => /worker-\w+(?=-\w+\.code$)/.exec(String(file))?.[0] ?? '')
    .filter(Boolean);
  expect(uses.toSorted(), 'compiled code for each use').toEqual(['worker-agent', 'worker-command']);
});
