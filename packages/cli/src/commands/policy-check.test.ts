/** The host's side of the golden decisions; the worker's side is packages/worker/src/coordination/golden-decisions.test.ts. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { COMMANDS } from '../command-table.ts';
import { runCli } from '../run-cli.ts';

interface Golden {
  readonly workspace: string;
  readonly home: string;
  readonly rules: readonly unknown[];
  readonly cases: readonly {
    readonly tool: string;
    readonly input: { readonly command?: unknown };
    readonly decisions: Record<string, string>;
    readonly actionClass: string;
    readonly rule: string;
    readonly cause: string;
    readonly reason?: string;
  }[];
}

const GOLDEN = new URL('../../../policy/src/golden-decisions.json', import.meta.url);
const golden = JSON.parse(readFileSync(GOLDEN, 'utf8')) as Golden;
const commands = golden.cases.flatMap(({ input, decisions, actionClass, rule, cause }) =>
  typeof input.command === 'string' && !input.command.startsWith('*** Begin Patch')
    ? Object.entries(decisions).map(([mode, decision]) => {
        const command = String(input.command);
        return { command, mode, decision, actionClass, rule, cause };
      })
    : [],
);
let folder: string;
let before: string;

beforeAll(() => {
  before = process.cwd();
  folder = mkdtempSync(join(tmpdir(), 'caisson-policy-'));
  mkdirSync(join(folder, 'app'));
  mkdirSync(join(folder, 'home'));
  // JSON is YAML.
  writeFileSync(join(folder, 'app', 'caisson.yaml'), JSON.stringify({ policy: { rules: golden.rules } }));
  process.chdir(join(folder, 'app'));
  vi.stubEnv('HOME', join(folder, 'home'));
});
afterAll(() => {
  process.chdir(before);
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

async function check(...args: readonly string[]): Promise<{ code: number; out: string }> {
  let out = '';
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    out += chunk.toString();
    done();
  };
  const stream = () =>
    Object.assign(new Writable({ write }), { isTTY: false }) as unknown as NodeJS.WriteStream;
  const code = await runCli(['policy', 'check', ...args], COMMANDS, { stdout: stream(), stderr: stream() });
  return { code, out };
}

/** The golden file's folders stand for the ones of this test. */
function place(text: string): string {
  return text.replaceAll(golden.workspace, join(folder, 'app')).replaceAll(golden.home, join(folder, 'home'));
}

describe('caisson policy check decides as the golden file says', () => {
  it.each(commands)('$mode $command: $decision', async ({ mode, command, ...expected }) => {
    const { code, out } = await check('--mode', mode, '-o', 'json', '--', place(command));
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ ...expected, cause: place(expected.cause) });
  });
});

describe('caisson policy check', () => {
  it('says in words what it decided, which class and rule, and because of which part', async () => {
    const { out } = await check('--mode', 'auto-edit', '--', 'npm test && git push --force');
    expect(out).toContain('deny  git_destructive in mode auto-edit');
    expect(out).toContain('because of  git push --force');
    expect(out).toContain('rule        git-push-force');
  });

  it('applies the rules of caisson.yaml and gives their reason', async () => {
    const { out } = await check('--mode', 'full-auto', '-o', 'json', '--', 'npm publish');
    expect(JSON.parse(out)).toMatchObject({
      decision: 'deny',
      rule: 'deny npm publish',
      cause: 'npm publish',
      reason: 'releases go through CI',
    });
  });
});
