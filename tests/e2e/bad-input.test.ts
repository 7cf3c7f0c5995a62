/** What a person or a machine may put in our way: one paragraph that names it and the remedy, and nothing is changed. */
import { execFileSync, spawn } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, finish, makeState, ROOT } from './project.ts';

const LIMIT_MS = 20_000;
const LEDGER = '.caisson/ledger.db';

const inTheWay: [string, string, (path: string) => void, number][] = [
  ['text', LEDGER, (path) => writeFileSync(path, 'dear diary\n'), 1],
  ['nothing at all', LEDGER, (path) => writeFileSync(path, ''), 10],
  ['half of one', LEDGER, (path) => writeHalf(path), 10],
  ['a folder', LEDGER, (path) => mkdirSync(path), 1],
  ['a pipe', LEDGER, (path) => execFileSync('mkfifo', [path]), 1],
  ['a link that leads nowhere', LEDGER, (path) => symlinkSync('/nowhere/at/all', path), 1],
  ['a device', LEDGER, (path) => symlinkSync('/dev/zero', path), 1],
  ['a folder', 'caisson.yaml', (path) => mkdirSync(path), 2],
  ['a pipe', 'caisson.yaml', (path) => execFileSync('mkfifo', [path]), 2],
  ['a link that leads nowhere', 'caisson.yaml', (path) => symlinkSync('gone.yaml', path), 2],
  ['a device', 'caisson.yaml', (path) => symlinkSync('/dev/zero', path), 2],
  ['ten megabytes', 'caisson.yaml', (path) => writeFileSync(path, '# '.repeat(5_000_000)), 2],
  [
    'bytes that are not text',
    'caisson.yaml',
    (path) => writeFileSync(path, Buffer.from([0xff, 0x00, 0xfe])),
    2,
  ],
];

describe.each(inTheWay)('%s as %s', (_what, name, make, exitCode) => {
  it(
    'is named with what to do, reported to programs as JSON, and left as it is',
    async () => {
      const project = createProject();
      const path = join(project.root, name);
      makeState(project);
      for (const end of ['', '-wal', '-shm']) rmSync(join(project.root, `${LEDGER}${end}`), { force: true });
      make(path);
      const before = describePath(path);
      const human = await project.caisson('run', '--', 'true');
      expect(human.code).toBe(exitCode);
      expectParagraph(human.stderr, path);
      const json = await project.caisson('runs', '-o', 'json');
      expect(json.code).toBe(exitCode);
      const { error } = JSON.parse(json.stdout) as { error: { message: string; remedy: string } };
      expect(error.message).toContain(path);
      expect(error.remedy).not.toBe('');
      expect(describePath(path)).toEqual(before);
    },
    LIMIT_MS,
  );
});

it.each(['/proc', '/sys', '/dev/null'])(
  'HOME=%s is refused, and nothing hangs',
  async (home) => {
    const project = createProject({ env: { HOME: home } });
    const { code, stderr } = await project.caisson('run', '--', 'true');
    expect(code).toBe(2);
    expectParagraph(stderr, home);
  },
  LIMIT_MS,
);

it(
  'folders of the user that can never be made cost a cache and a signature, not the run',
  async () => {
    const folders = ['DATA', 'CONFIG', 'CACHE'].map((name) => [`XDG_${name}_HOME`, '/proc/1']);
    const project = createProject({ env: Object.fromEntries(folders) as Record<string, string> });
    const run = await project.caisson('run', '--', 'true');
    expect(run.code).toBe(0);
    expect(run.stderr).toContain('the folder of your keys, /proc/1/caisson/keys, cannot be used');
    const keys = await project.caisson('keys', '--export');
    expect(keys.code).toBe(1);
    expectParagraph(keys.stderr, '/proc/1/caisson/keys');
  },
  LIMIT_MS,
);

/** As a copy that was broken off leaves it. */
function writeHalf(path: string): void {
  void openLedger(path).close();
  truncateSync(path, Math.floor(statSync(path).size / 2));
}

function expectParagraph(stderr: string, path: string): void {
  expect(stderr).toContain(path);
  expect(stderr).not.toMatch(/^ +at /m);
  expect(stderr).not.toContain('internal error');
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr.trim()).toMatch(/^error: .+\. .+\.$/);
}

function describePath(path: string): unknown {
  const info = lstatSync(path);
  const content = info.isFile() ? readFileSync(path) : info.isDirectory() ? readdirSync(path) : null;
  return { mode: info.mode, size: info.size, ino: info.ino, content };
}

it('a key that is named and not set is refused before anything starts, and nothing else counts as one', async () => {
  const project = createProject({
    config: 'runtimes:\n  native: { endpoint: "http://127.0.0.1:9", apiKey: "env:NOPE_KEY", model: m }\n',
    env: { ANTHROPIC_API_KEY: 'sk-of-something-else' },
  });
  const run = await project.caisson('run', '--runtime', 'native', 'do it');
  expect(run.code).toBe(2);
  expect(run.stderr).toContain('the environment variable NOPE_KEY is not set');
  const { stdout } = await project.caisson('runtimes', '-o', 'json');
  const found = JSON.parse(stdout) as { name: string; login: string }[];
  expect(found.find(({ name }) => name === 'native')?.login).toBe('none');
});

it('a folder whose name is not UTF-8 is refused by name, and no other is worked in', async () => {
  const project = createProject({ git: false });
  const script = String.raw`f=$(printf 'lat\351n'); mkdir "$f"; cd "$f"; exec "$0" "$1" run -- sh -c 'echo x > new'`;
  const child = spawn('sh', ['-c', script, process.execPath, join(ROOT, 'packages/cli/bin/caisson.js')], {
    cwd: project.root,
    env: project.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, stderr } = await finish(child);
  expect([code, stderr]).toEqual([2, expect.stringContaining('the name of the current folder is not UTF-8')]);
  expect(readdirSync(project.root, { encoding: 'buffer' }).map((name) => name.toString('latin1'))).toEqual([
    'lat\u00e9n',
  ]);
});

it('the home folder is not worked in, in place: its keys are what the sandbox keeps', async () => {
  const project = createProject({ git: false });
  project.env['HOME'] = project.root;
  project.write('.ssh/id', 'PRIVATE');
  const refused = await project.caisson('run', '--', 'cat', '.ssh/id');
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toContain('in place, the agent would get everything in it (check: not-the-home)');
  expect((await project.caisson('run', '--workspace', 'empty', '--', 'true')).code).toBe(0);
});
