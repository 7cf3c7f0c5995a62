/** The package as a user gets it: packed, installed outside of the clone, used as a command and as a library. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readResidentCode } from './guide-blocks.ts';
import { createProject, ROOT } from './project.ts';

const USE = `import { createCaisson, defineSense, defineWorkflow, type DispatchRequest } from 'caisson';
import { startModelServer } from 'caisson/testkit';
const request: DispatchRequest = { argv: ['true'] };
const caisson = await createCaisson({ cwd: '.' });
const run = await caisson.dispatch(request);
for await (const event of run.events()) if (event.type === 'dispatch.finished') event.durationMs.toFixed();
export const words: string[] = [(await run.ended).status, (await startModelServer({ script: [] })).url];
// @ts-expect-error a request with a wrong field
await caisson.dispatch({ argv: 5 });
export const sense = defineSense<{ red: { failed: string[] }; green: undefined }>({
  compute({ emit, state }) {
    emit('red', { failed: state.get<string[]>('failed') ?? [] });
    emit('green');
    // @ts-expect-error another payload than it declares
    emit('red', { failed: 5 });
    // @ts-expect-error no payload
    emit('red');
    // @ts-expect-error a signal that it does not declare
    emit('blue');
  },
});
export const workflow = defineWorkflow<{ failed: string[] }>({
  roles: {
    fix: async ({ payload, dispatch }) => (await dispatch({ task: payload.failed.join() })).status,
    // @ts-expect-error what a run of a role may not ask for
    unbound: ({ start }) => start({ task: 'x', sandbox: 'none' }),
    // @ts-expect-error a payload that it does not have
    guess: ({ payload }) => payload.passed,
  },
  route: ({ messages }) => (messages.length === 0 ? 'fix' : null),
});
`;

let folder: string;
let packed: string;
let installed: string;
/** Nothing of the clone: the Node that runs this test, npm, and the system. */
const path = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);

function npm(args: readonly string[], cwd: string): string {
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  return execFileSync('npm', [...args, ...quiet], { cwd, encoding: 'utf8' });
}

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-packed-')));
  const printed = npm(['pack', '--silent', '--pack-destination', folder], join(ROOT, 'packages/cli'));
  packed = join(folder, printed.trim().split('\n').at(-1) ?? ''); // after what its scripts print
  installed = join(folder, 'consumer');
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{"name":"consumer","type":"module","private":true}');
  npm(['install', packed], installed);
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('runs, shows and verifies outside of the clone, installed and by npx', { timeout: 120_000 }, () => {
  const project = createProject();
  const env = { ...project.env, PATH: path };
  const bin = join(installed, 'node_modules/.bin/caisson');
  const caisson = (...args: string[]) =>
    execFileSync(bin, args, { cwd: project.root, env, encoding: 'utf8' });
  expect(caisson('run', '--', 'sh', '-c', 'echo hello; echo more >>README.md')).toContain('hello');
  expect(caisson('diff')).toContain('+more');
  expect(caisson('verify')).toContain('ok');
  const byNpx = ['--yes', '--prefix', installed, '--no-install', 'caisson', 'version'];
  expect(execFileSync('npx', byNpx, { cwd: installed, encoding: 'utf8' })).toMatch(/^caisson \d/);
});

it.each([
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])('has types that a strict program compiles with, module %s, resolution %s', (module, resolution) => {
  const code = { 'use.ts': USE, ...readResidentCode() };
  for (const [name, text] of Object.entries(code)) {
    mkdirSync(dirname(join(installed, name)), { recursive: true });
    writeFileSync(join(installed, name), text);
  }
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'es2023',
    '--skipLibCheck',
    'false',
    '--types',
    'node',
  ];
  const how = ['--module', module, '--moduleResolution', resolution];
  const argv = [...options, ...how, ...Object.keys(code)];
  expect(spawnSync(tsc, argv, { cwd: installed, encoding: 'utf8' }).stdout).toBe('');
});
