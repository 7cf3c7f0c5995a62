/** The compiled code that a command starts with is run as it is, so it has to be this user's own. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from './project.ts';
import { caissonAs, isRoot, STRANGER } from './users.ts';

/** V8 knows the source of its code by the length alone: this makes code of another source for the same bundle. */
const FORGE = `
  const { Script } = require('node:vm');
  const { readFileSync, writeFileSync } = require('node:fs');
  const [bundle, code] = process.argv.slice(1);
  const [head, tail] = ['(function (exports, require, module, __filename, __dirname) { ', '\\n})'];
  const source = 'process.stdout.write("PLANTED")'.padEnd(readFileSync(bundle, 'latin1').length);
  const script = new Script(head + source + tail, { filename: bundle });
  script.runInThisContext()();
  writeFileSync(code, script.createCachedData());
`;

interface Planted {
  readonly home: string;
  readonly compile: string;
  readonly code: string;
}

/** A home whose cache has code that is not of the bundle. */
async function plantCode(): Promise<Planted> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-code-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  await version(home);
  const compile = join(home, '.cache/caisson/compile');
  const code = findCode(home, 'caisson-light-');
  execFileSync(process.execPath, ['-e', FORGE, join(ROOT, 'packages/cli/dist/caisson-light.cjs'), code]);
  return { home, compile, code };
}

function findCode(home: string, start: string): string {
  const compile = join(home, '.cache/caisson/compile');
  const names = readdirSync(compile, { recursive: true, encoding: 'utf8' });
  const name = names.find((at) => basename(at).startsWith(start) && at.endsWith('.code'));
  if (name === undefined) throw new Error(`no code of ${start} is kept`);
  return join(compile, name);
}

async function version(home: string): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home };
  return (await caissonAs({ cwd: home, env }, 'version')).stdout;
}

if (!isRoot) process.stderr.write('Compiled code of another account is not tried: that needs root.\n');

describe('compiled code in the cache', { timeout: 60_000 }, () => {
  it('is run if it is our own', async () => {
    const { home } = await plantCode();
    expect(await version(home)).toBe('PLANTED');
  });

  it.each([
    ['is a file that others can write', 'code', 0o666],
    ['is in a folder that others can write', 'compile', 0o777],
  ] as const)('is not run if it %s', async (_what, place, mode) => {
    const planted = await plantCode();
    chmodSync(planted[place], mode);
    expect(await version(planted.home)).toMatch(/^caisson \d/);
  });

  it.runIf(isRoot).each(['home', 'compile', 'code'] as const)(
    'is not run if its %s belongs to another account',
    async (place) => {
      const planted = await plantCode();
      chownSync(planted[place], STRANGER, STRANGER);
      expect(await version(planted.home)).toMatch(/^caisson \d/);
    },
  );

  // For its first second a run has other flags, and V8 takes code only with those that it was kept with (decision 0080).
  it.each([
    ['a short', 'true'],
    ['a long', 'sleep 1.5'],
  ])('that %s run has left is what the next one starts with', async (_how, script) => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-code-')));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const as = { cwd: home, env: { PATH: process.env['PATH'] ?? '', HOME: home } };
    const run = (line: string): Promise<{ code: number | null }> =>
      caissonAs(as, 'run', '--workspace', 'empty', '--', 'sh', '-c', line);
    expect(await run(script)).toMatchObject({ code: 0 });
    const kept = findCode(home, 'caisson-run-');
    const before = statSync(kept, { bigint: true });
    expect(await run('true')).toMatchObject({ code: 0 });
    expect(findCode(home, 'caisson-run-')).toBe(kept);
    expect(statSync(kept, { bigint: true })).toMatchObject({ ino: before.ino, mtimeNs: before.mtimeNs });
  });
});
