import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  discoverRuntimes,
  examineHost,
  findInstalledVersion,
  findNativeProgram,
  findProgram,
  locateRuntimes,
  PROBES,
  toDiscoveredPayload,
  type ProbeContext,
} from './index.ts';
import { createToolProbe, gitProbe } from './program-probes.ts';
import { compareVersions, findVersion } from './program-version.ts';

const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-discovery-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function context(changes: Partial<ProbeContext> = {}): ProbeContext & { projectRoot: string } {
  return {
    projectRoot: join(folder, 'project'),
    env: { PATH: `${folder}:${SYSTEM_PATH}` },
    home: folder,
    stateDir: join(folder, '.caisson'),
    runtimes: {},
    ...changes,
  };
}

it('a program is found as a shell would find it: executable files only, never from a relative PATH entry', () => {
  mkdirSync(join(folder, 'tool'));
  writeFileSync(join(folder, 'plain'), '');
  const real = program('real', 'true');
  expect(findProgram('real', folder, '/')).toBe(real);
  expect(findProgram('./real', undefined, folder)).toBe(real);
  expect([
    findProgram('tool', folder, '/'),
    findProgram('plain', folder, '/'),
    findProgram('real', '.:', folder),
  ]).toEqual([null, null, null]);
});

it('the version of an installed program is read from the package that brings it, and from no other above it', () => {
  const own = join(folder, 'node_modules/agent');
  mkdirSync(join(own, 'dist/bundle'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '9.9.9', bin: { other: 'x' } }));
  const path = program('node_modules/agent/dist/bundle/agent.js', 'true');
  expect(findInstalledVersion(path, ['agent'])).toBeNull();
  writeFileSync(join(own, 'package.json'), '{ broken');
  expect(findInstalledVersion(path, ['agent'])).toBeNull();
  const bin = { agent: './dist/bundle/agent.js' };
  writeFileSync(join(own, 'package.json'), JSON.stringify({ version: '1.2.3', bin }));
  symlinkSync(path, join(folder, 'agent'));
  expect(findInstalledVersion(join(folder, 'agent'), ['agent'])).toBe('1.2.3');
});

it('a folder of PATH that we may not look into is passed over, as a shell would', () => {
  const closed = join(folder, 'closed');
  const real = program('real', 'true');
  mkdirSync(closed, { mode: 0o000 });
  const uid = process.getuid?.() === 0 ? 31_234 : null;
  chmodSync(folder, 0o755);
  // Nothing is closed to root, so another user asks.
  const ask = `process.${uid === null ? 'getuid()' : `setuid(${uid})`};
    const { findProgram } = await import('./find-program.ts');
    console.log(findProgram('real', '${closed}:${folder}', '/'), findProgram('none', '${closed}', '/'));`;
  const answer = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', ask], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  chmodSync(closed, 0o755);
  expect(answer).toBe(`${real} null\n`);
});

it('versions are read from what programs print, and compared by number', () => {
  expect(
    ['codex-cli 0.9.12', 'git version 2.47.3', '1.2 (build)', 'none', 'v24.1.0-rc.1'].map(findVersion),
  ).toEqual(['0.9.12', '2.47.3', '1.2', null, '24.1.0-rc.1']);
  expect(compareVersions('2.9.0', '2.10.0')).toBeLessThan(0);
  expect(compareVersions('2.10', '2.10.0')).toBe(0);
});

it('a configured runtime is asked for its version in a HOME of its own', async () => {
  const bin = program('my-agent', 'echo "my-agent 3.1.4"; touch "$HOME/litter"');
  const [found] = (await discoverRuntimes(context({ runtimes: { mine: { bin } } }))).filter(
    ({ name }) => name === 'mine',
  );
  expect(found).toMatchObject({
    name: 'mine',
    kind: 'custom',
    path: bin,
    version: '3.1.4',
    fit: 'unknown',
    problem: null,
  });
  expect(readdirSync(folder)).not.toContain('litter');
  expect(toDiscoveredPayload(found === undefined ? [] : [found])).toEqual({
    runtimes: [{ name: 'mine', version: '3.1.4', path: bin }],
  });
});

it('a program that is missing or broken is a finding, not an error', async () => {
  const bin = program('broken', 'echo "cannot find libfoo" >&2; exit 127');
  const mute = program('mute', 'echo banana');
  const runtimes = {
    broken: { bin },
    mute: { bin: mute },
    gone: { bin: 'no-such-program' },
    own: { adapter: './no-such-adapter.js' },
  };
  const found = await discoverRuntimes(context({ runtimes }));
  const problems = Object.fromEntries(found.map(({ name, problem }) => [name, problem]));
  expect(problems).toMatchObject({
    broken: '--version ended with 127: cannot find libfoo',
    mute: '--version reports no version: banana',
    gone: 'no-such-program was not found',
    own: 'the adapter ./no-such-adapter.js was not found',
  });
});

it('no file of the repository is started for a version, be it the program, its interpreter or above the project', async () => {
  const repository = join(folder, 'repository');
  const projectRoot = join(repository, 'sub/project');
  mkdirSync(join(repository, '.git'), { recursive: true });
  mkdirSync(join(projectRoot, '.git'), { recursive: true });
  mkdirSync(join(repository, 'bin'));
  const started = join(folder, 'started');
  const bin = program('repository/bin/agent', `touch ${started}; echo 1.2.3`);
  program('repository/bin/python3', `touch ${started}; echo 1.2.3`);
  symlinkSync(bin, join(folder, 'linked'));
  symlinkSync(join(repository, 'bin'), join(folder, 'bin'));
  writeFileSync(join(folder, 'foreign'), '#!/usr/bin/env python3\nprint("4.5.6")\n', { mode: 0o755 });
  const runtimes = {
    own: { bin },
    linked: { bin: join(folder, 'linked') },
    foreign: { bin: join(folder, 'foreign') },
  };
  const env = { PATH: `${repository}/bin:${folder}/bin:${SYSTEM_PATH}` };
  const found = await discoverRuntimes({ ...context({ runtimes, env }), projectRoot });
  const versions = Object.fromEntries(found.map(({ name, version }) => [name, version]));
  expect(versions).toMatchObject({ own: null, linked: null, foreign: '4.5.6' });
  expect(found.find(({ name }) => name === 'own')?.problem).toContain(`it lies in ${repository}`);
  expect(readdirSync(folder)).not.toContain('started');
});

it.each(['main', 'linked', 'beside'])(
  'programs of every worktree of a repository are its own, seen from the worktree %s',
  async (project) => {
    const main = join(folder, 'main');
    const git = (...args: string[]): Buffer => execFileSync('git', ['-C', main, ...args]);
    mkdirSync(main);
    git('init', '-q');
    git('-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-q', '--allow-empty', '-m', 'first');
    for (const name of ['linked', 'beside']) git('worktree', 'add', '-q', join(folder, name));
    const started = join(folder, 'started');
    const runtimes = Object.fromEntries(
      ['main', 'linked', 'beside'].map((name) => [
        name,
        { bin: program(`${name}/agent`, `touch ${started}; echo 1.2.3`) },
      ]),
    );
    const found = await discoverRuntimes({ ...context({ runtimes }), projectRoot: join(folder, project) });
    const problems = found.filter(({ name }) => name in runtimes).map(({ problem }) => problem);
    expect(problems).toEqual(Array(3).fill(expect.stringContaining('only a sandbox starts')));
    expect(readdirSync(folder)).not.toContain('started');
  },
);

it('locating starts no program', () => {
  const bin = program('trap', `touch ${join(folder, 'started')}`);
  expect(
    locateRuntimes(context({ runtimes: { trap: { bin } } })).find(({ name }) => name === 'trap')?.path,
  ).toBe(bin);
  expect(readdirSync(folder)).not.toContain('started');
});

it('every probe answers on this machine, with a remedy for whatever is not ok, and leaves nothing behind', async () => {
  const reports = await examineHost(context());
  expect(reports.map(({ id }) => id)).toEqual(PROBES.map(({ id }) => id));
  for (const report of reports)
    expect(report.verdict === 'ok' || (report.remedy ?? '') !== '', report.id).toBe(true);
  expect(
    reports
      .filter(({ id }) => ['node', 'git', 'bubblewrap', 'state-folder'].includes(id))
      .map(({ verdict }) => verdict),
  ).toEqual(['ok', 'ok', 'ok', 'ok']);
  expect(readdirSync(folder)).toEqual([]);
});

it('without bubblewrap where runs look for it the doctor fails, says what to install, and names the one in PATH', async () => {
  const bwrap = { program: 'bwrap', oldest: '0.8.0', locate: () => null, package: 'bubblewrap' };
  const missing = {
    verdict: 'fail',
    detail: "bwrap is not in the system's folders",
    remedy: 'Install bwrap 0.8.0 or newer, for example: apt-get install bubblewrap',
  };
  const probe = createToolProbe('bubblewrap', bwrap);
  expect(await probe.run(context({ env: { PATH: folder } }))).toEqual(missing);
  const own = program('bwrap', 'echo bubblewrap 9.9.9');
  expect(await probe.run(context())).toEqual({
    ...missing,
    detail: `${missing.detail}; runs do not use ${own}, which PATH names`,
  });
});

it('the doctor looks at the git that runs start, not at the first one in PATH', async () => {
  const own = program('git', 'echo git version 0.1.0');
  expect(await gitProbe.run(context())).toMatchObject({
    verdict: 'ok',
    detail: expect.stringMatching(
      `^2\\.\\S+ at /\\S+/git; runs do not use ${own}, which PATH names$`,
    ) as unknown,
  });
});

it('a probe that throws is reported and does not hide the others', async () => {
  const broken = { id: 'broken', run: () => Promise.reject(new Error('boom')) };
  const [first, second] = await examineHost(context(), [broken, ...PROBES.slice(0, 1)]);
  expect(first).toMatchObject({ id: 'broken', verdict: 'fail', detail: 'the probe failed: boom' });
  expect(second?.id).toBe('platform');
});

it('the native program behind the script of an npm package is found, in its own version alone', () => {
  const native = { folders: { x64: '@maker/agent-x64/vendor/target' }, layoutFile: 'agent-package.json' };
  const find = (path: string, arch = 'x64') => findNativeProgram(path, { native, bins: ['agent'] }, arch);
  mkdirSync(join(folder, 'node_modules/@maker/agent/bin'), { recursive: true });
  mkdirSync(join(folder, 'node_modules/.bin'));
  const script = program('node_modules/@maker/agent/bin/agent.js', 'true');
  const manifest = { version: '1.2.3', bin: { agent: 'bin/agent.js' } };
  writeFileSync(join(folder, 'node_modules/@maker/agent/package.json'), JSON.stringify(manifest));
  const link = join(folder, 'node_modules/.bin/agent');
  symlinkSync(script, link);
  expect(find(link)).toBeNull();
  const place = 'node_modules/@maker/agent-x64/vendor/target';
  mkdirSync(join(folder, place, 'bin'), { recursive: true });
  const started = program(`${place}/bin/agent`, 'true');
  const layOut = (layout: unknown): void =>
    writeFileSync(join(folder, place, 'agent-package.json'), JSON.stringify(layout));
  layOut({ layoutVersion: 1, version: '1.2.3', entrypoint: 'bin/agent' });
  expect(find(link)).toBe(started);
  expect(find(script)).toBe(started);
  expect(find(link, 'riscv64')).toBeNull();
  expect(find(program('agent', 'exec node_modules/.bin/agent'))).toBeNull(); // a person's own script stays
  for (const other of [
    { layoutVersion: 2, version: '1.2.3', entrypoint: 'bin/agent' },
    { layoutVersion: 1, version: '1.2.4', entrypoint: 'bin/agent' },
    { layoutVersion: 1, version: '1.2.3', entrypoint: '../../../@maker/agent/bin/agent.js' },
    { layoutVersion: 1, version: '1.2.3', entrypoint: 'bin/missing' },
  ]) {
    layOut(other);
    expect(find(link)).toBeNull();
  }
});
