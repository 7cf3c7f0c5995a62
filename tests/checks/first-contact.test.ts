import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Makes a Node believe that it is older, or another user, before the program starts. */
const PRETEND_OLD = preload(
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })",
);
const PRETEND_ROOT = preload('process.getuid = () => 0');
const PRETEND_USER = preload('process.getuid = () => 1000');
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'caisson-contact-'));
  copy('packages/cli/bin/caisson.js');
  copy('packages/cli/bin/package.json');
  copy('scripts/bootstrap.mjs');
  write('package.json', '{ "type": "module" }');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function preload(code: string): string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

function copy(path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  cpSync(join(ROOT, path), join(root, path));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function installPinnedNode(): void {
  mkdirSync(join(root, 'node_modules/.bin'), { recursive: true });
  symlinkSync(process.execPath, join(root, 'node_modules/.bin/node'));
}

function node(args: readonly string[], env: Record<string, string> = {}) {
  const result = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: join(root, 'empty'), HOME: root, ...env },
  });
  return { code: result.status, out: result.stdout, err: result.stderr };
}

describe('the caisson bin', () => {
  const BIN = 'packages/cli/bin/caisson.js';

  it('on a Node that is too old says so in one line with the remedy', () => {
    expect(node([...PRETEND_OLD, BIN])).toEqual({
      code: 2,
      out: '',
      err: 'caisson: Node 20.19.0 is too old. Install Node 22.18 or newer and run the command again.\n',
    });
  });

  it("on a Node that is too old goes on with the clone's own, with arguments and exit code", () => {
    installPinnedNode();
    write('packages/cli/dist/start.cjs', 'console.log(process.argv.slice(2)); process.exitCode = 7;');
    expect(node([...PRETEND_OLD, BIN, 'run', '--', "it's"])).toEqual({
      code: 7,
      out: "[ 'run', '--', \"it's\" ]\n",
      err: '',
    });
  });

  it.each([
    ['dies of a signal', '', [null, 'SIGHUP']],
    ['handles it', "process.on('SIGHUP', () => process.exit(5));", [5, null]],
  ])("on a Node that is too old ends as the clone's own does, which %s", async (_what, handle, ending) => {
    installPinnedNode();
    const program = `${handle} setInterval(() => undefined, 1000); console.log('ready');`;
    write('packages/cli/dist/start.cjs', program);
    const child = spawn(process.execPath, [...PRETEND_OLD, BIN], { cwd: root });
    await once(child.stdout, 'data');
    child.kill('SIGHUP');
    expect(await once(child, 'close')).toEqual(ending);
  });

  it("on a Node that is too old, killed with SIGKILL, takes the clone's own with it", async () => {
    installPinnedNode();
    const program = `
      const known = { mark: process.env.CAISSON_LAUNCHED, argv: process.execArgv };
      setInterval(() => undefined, 1000); console.log(JSON.stringify({ pid: process.pid, ...known }));`;
    write('packages/cli/dist/start.cjs', program);
    const child = spawn(process.execPath, [...PRETEND_OLD, BIN], { cwd: root });
    const [text] = (await once(child.stdout, 'data')) as [Buffer];
    const { pid, ...known } = JSON.parse(text.toString()) as { pid: number };
    expect(known).toEqual({ argv: [] });
    onTestFinished(() => {
      if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
    });
    child.kill('SIGKILL');
    await once(child, 'close'); // its pipes are closed once both are gone
    expect(existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') S')).toBe(
      false,
    );
  });

  it('with a channel of another program goes on when that is closed', async () => {
    write('packages/cli/dist/start.cjs', "process.on('disconnect', () => (process.exitCode = 5));");
    const child = spawn(process.execPath, [BIN], { cwd: root, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    child.disconnect();
    expect(await once(child, 'exit')).toEqual([5, null]);
  });

  it('in a clone that is not built says how to build it', () => {
    expect(node([BIN])).toMatchObject({
      code: 2,
      err: 'caisson: this clone is not built yet. Run: npm run build\n',
    });
  });
});

describe('the bootstrap', () => {
  const SCRIPT = 'scripts/bootstrap.mjs';

  function install(locked: string, present: string): void {
    installPinnedNode();
    write(
      'package-lock.json',
      JSON.stringify({
        packages: {
          'node_modules/a': { version: locked },
          'node_modules/b': { optional: true, version: '1.0.0' },
        },
      }),
    );
    write(
      'node_modules/.package-lock.json',
      JSON.stringify({ packages: { 'node_modules/a': { version: present } } }),
    );
    write('scripts/build.mjs', "console.log('built by', process.version); process.exitCode = 3;");
  }

  it('refuses what it does not know and lists what it does', () => {
    expect(node([SCRIPT, 'deploy'])).toMatchObject({
      code: 2,
      err: 'caisson: "deploy" is not one of start, test, faults, build, check, bench.\n',
    });
  });

  it('installs nothing when everything is there, names missing system packages, and passes the exit code on', () => {
    install('1.2.3', '1.2.3');
    expect(node([...PRETEND_USER, SCRIPT, 'build'])).toEqual({
      code: 3,
      out: `built by ${process.version}\n`,
      err: 'caisson: missing system packages: bubblewrap git. Install them, for example: sudo apt-get install bubblewrap git\n',
    });
  });

  it('installs again when the lock file has changed', () => {
    install('1.2.4', '1.2.3');
    expect(node([SCRIPT, 'build'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('npm was not found in PATH'),
    });
  });

  it('says what it installs, and that it still does', { timeout: 60_000 }, async () => {
    install('1.2.4', '1.2.3');
    write('tools/npm', '#!/bin/sh\nuntil [ -e go ]; do /bin/sleep 0.05; done\nexit 7\n');
    chmodSync(join(root, 'tools/npm'), 0o755);
    const child = spawn(process.execPath, [SCRIPT, 'build'], {
      cwd: root,
      env: { PATH: join(root, 'tools') },
    });
    onTestFinished(() => void child.kill());
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('still installing')) write('go', '');
    });
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(said).toMatch(
      /^caisson: installing the locked dependencies \(npm ci\), up to 2 packages; .*\n(caisson: still installing, for \d+ s\n)+caisson: npm ci ended with code 7\./,
    );
  });

  it("installs again when this machine's Node is not there", () => {
    install('1.2.3', '1.2.3');
    const pinned = { optional: true, version: '24.0.0' };
    write(
      'package-lock.json',
      JSON.stringify({ packages: { [`node_modules/node-linux-${process.arch}`]: pinned } }),
    );
    expect(node([SCRIPT, 'build'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('installing the locked dependencies (npm ci)'),
    });
  });

  it('says when npm left the pinned Node out, and stops where this one is too old', () => {
    install('1.2.3', '1.2.3');
    rmSync(join(root, 'node_modules/.bin/node'));
    expect(node([...PRETEND_USER, SCRIPT, 'build'])).toMatchObject({
      code: 3,
      err: expect.stringContaining(
        `The lock file has no Node for ${process.arch}. Going on with ${process.versions.node}.`,
      ),
    });
    const path = `node_modules/node-linux-${process.arch}`;
    const packages = { [path]: { optional: true, version: '24.0.0' } };
    write('package-lock.json', JSON.stringify({ packages }));
    write('node_modules/.package-lock.json', JSON.stringify({ packages }));
    expect(node([...PRETEND_OLD, SCRIPT, 'build'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/was not installed: .* digest .* Install Node 22\.18 or newer/),
    });
  });

  it('says what it is about to install with apt-get and how to leave that out, before it does', () => {
    install('1.2.3', '1.2.3');
    writeAptGet();
    expect(node([...PRETEND_ROOT, SCRIPT, 'build'], { PATH: join(root, 'tools') }).err).toBe(
      [
        'caisson: about to install system packages with apt-get: bubblewrap git',
        'caisson: to leave that out, stop now (Ctrl-C) and start again with CAISSON_NO_APT=1',
        'apt-get update -qq',
        'apt-get install -y -qq --no-install-recommends bubblewrap git',
        '',
      ].join('\n'),
    );
  });

  it('installs nothing with apt-get where that is unwanted, and names what is missing', () => {
    install('1.2.3', '1.2.3');
    writeAptGet();
    const { err } = node([...PRETEND_ROOT, SCRIPT, 'build'], {
      PATH: join(root, 'tools'),
      CAISSON_NO_APT: '1',
    });
    expect(err).toBe(
      'caisson: missing system packages: bubblewrap git. Install them, for example: sudo apt-get install bubblewrap git\n',
    );
  });

  /** An apt-get that says what it was asked for. */
  function writeAptGet(): void {
    write('tools/apt-get', '#!/bin/sh\necho "apt-get $*" >&2\n');
    chmodSync(join(root, 'tools/apt-get'), 0o755);
  }

  it('stops before the requested script when the build fails', () => {
    install('1.2.3', '1.2.3');
    write('scripts/start.ts', "console.log('started');");
    const { code, out, err } = node([...PRETEND_USER, SCRIPT, 'start']);
    expect([code, out]).toEqual([3, `built by ${process.version}\n`]);
    expect(err).toContain('The build failed');
  });
});
