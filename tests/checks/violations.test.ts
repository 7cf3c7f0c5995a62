/** Each part of `npm run check` catches what it is there for: shown on a copy of the tree with one thing wrong in it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Each runs a whole tool of the check, beside three other test files. */
const LIMIT_MS = 120_000;
let copy = '';

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'caisson-checks-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  });
  for (const path of listed.split('\0').filter((name) => name !== '' && !name.startsWith('tests/'))) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(ROOT, path), join(copy, path));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function check(command: string, ...args: string[]): { code: number | null; said: string } {
  const path = `${join(ROOT, 'node_modules/.bin')}:${dirname(process.execPath)}:/usr/bin:/bin`;
  const run = spawnSync(join(ROOT, 'node_modules/.bin', command), args, {
    cwd: copy,
    env: { PATH: path, HOME: copy },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { code: run.status, said: `${run.stdout}${run.stderr}` };
}

/** Puts a file into the copy for the time of one test. */
function withFile(path: string, content: string, look: () => void): void {
  writeFileSync(join(copy, path), content);
  try {
    look();
  } finally {
    rmSync(join(copy, path));
  }
}

it('a wrong type is caught', { timeout: LIMIT_MS }, () => {
  withFile('packages/protocol/src/wrong.ts', "export const count: number = 'one';\n", () => {
    const { code, said } = check('tsc', '-p', '.');
    expect(code).not.toBe(0);
    expect(said).toContain('packages/protocol/src/wrong.ts');
  });
});

it('a promise without an await is caught', { timeout: LIMIT_MS }, () => {
  const content = 'async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}\n';
  withFile('packages/protocol/src/floating.ts', content, () => {
    const { code, said } = check(
      'oxlint',
      '--type-aware',
      '--deny-warnings',
      '--quiet',
      'packages/protocol/src/floating.ts',
    );
    expect(code).not.toBe(0);
    expect(said).toContain('no-floating-promises');
  });
});

it('a file that is not formatted is caught', { timeout: LIMIT_MS }, () => {
  withFile('packages/protocol/src/ragged.ts', 'export const a = {b:1 ,c : "x"}\n', () => {
    const { code, said } = check('oxfmt', '--check', 'packages/protocol/src/ragged.ts');
    expect(code).not.toBe(0);
    expect(said).toContain('ragged.ts');
  });
});

it('an unused file is caught', { timeout: LIMIT_MS }, () => {
  withFile('packages/ground/src/forgotten.ts', 'export const forgotten = 1;\n', () => {
    const { code, said } = check('knip', '--no-progress');
    expect(code).not.toBe(0);
    expect(said).toContain('packages/ground/src/forgotten.ts');
  });
});

it('a reference page that was edited by hand is caught', { timeout: LIMIT_MS }, () => {
  appendFileSync(join(copy, 'docs/reference/events.md'), 'edited by hand\n');
  const { code, said } = check('node', 'scripts/generate-docs.ts', '--check');
  expect(code).not.toBe(0);
  expect(said).toContain('docs/reference/events.md');
});
