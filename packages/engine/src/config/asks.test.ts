import type { ConfigFile } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';
import { divideFile, lowerToUser } from './asks.ts';

const MINUTE = 60_000;
const divide = (project: unknown, user: unknown = {}): ReturnType<typeof divideFile> =>
  divideFile(project as ConfigFile, user as ConfigFile);
const asked = (project: unknown, user: unknown = {}): string[] =>
  divide(project, user).asks.map(({ path }) => path.join('.'));

describe('a file is divided', () => {
  test('by the mark of each key, also inside maps of names', () => {
    const { harmless, asks } = divide({
      limits: { timeout: 5 * MINUTE },
      runtimes: { codex: { model: 'm', bin: './agent' } },
      workspace: { setup: 'sh setup.sh' },
    });
    expect(harmless).toEqual({ limits: { timeout: 5 * MINUTE }, runtimes: { codex: { model: 'm' } } });
    expect(asks).toEqual([
      { path: ['runtimes', 'codex', 'bin'], value: './agent' },
      { path: ['workspace', 'setup'], value: 'sh setup.sh' },
    ]);
  });

  test('a value above the default is asked about, one below is not', () => {
    expect(asked({ limits: { timeout: 31 * MINUTE } })).toEqual(['limits.timeout']);
    expect(asked({ limits: { timeout: 30 * MINUTE } })).toEqual([]);
    expect(asked({ limits: { trashAge: MINUTE, trash: 1 } })).toEqual(['limits.trashAge', 'limits.trash']); // less is kept
    expect(asked({ mode: 'full-auto' })).toEqual(['mode']);
    expect(asked({ mode: 'suggest' })).toEqual([]);
  });

  test('what the user allows is not asked about, what is above it is', () => {
    const user = { limits: { timeout: 60 * MINUTE } };
    expect(asked({ limits: { timeout: 50 * MINUTE } }, user)).toEqual([]);
    expect(asked({ limits: { timeout: 61 * MINUTE } }, user)).toEqual(['limits.timeout']);
  });

  test("an agent's own limits are bounded by the settings that hold without them", () => {
    expect(asked({ agents: { a: { grant: { limits: { memory: 2 ** 40 } } } } })).toEqual([
      'agents.a.grant.limits.memory',
    ]);
    expect(asked({ agents: { a: { timeout: MINUTE } } })).toEqual([]);
  });

  test("an entry that would take the place of the user's is asked about whole", () => {
    const user = { agents: { reviewer: { mode: 'suggest' } } };
    expect(asked({ agents: { reviewer: { timeout: MINUTE } } }, user)).toEqual(['agents.reviewer']);
    expect(asked({ agents: { other: { timeout: MINUTE } } }, user)).toEqual([]);
  });

  test('a map of which nothing is left is left out', () => {
    expect(divide({ network: { hosts: ['a.example:443'] } }).harmless).toEqual({});
    expect(divide({ network: {} }).harmless).toEqual({ network: {} });
  });
});

describe("a file is lowered to the user's", () => {
  const lower = (project: unknown, user: unknown): unknown =>
    lowerToUser(project as ConfigFile, user as ConfigFile);

  test("values above the user's own go, values below stay", () => {
    const user = { limits: { timeout: MINUTE, retries: 1 }, mode: 'suggest' };
    expect(lower({ limits: { timeout: 2 * MINUTE, retries: 0 }, mode: 'full-auto' }, user)).toEqual({
      limits: { retries: 0 },
    });
  });

  test("an agent's limit above the user's setting becomes that setting", () => {
    expect(lower({ agents: { a: { timeout: 5 * MINUTE } } }, { limits: { timeout: MINUTE } })).toEqual({
      agents: { a: { timeout: MINUTE } },
    });
  });

  test('what is no limit stays as it is', () => {
    const project = { workspace: { setup: 'make' }, network: { hosts: ['a.example:443'] } };
    expect(lower(project, { workspace: { setup: 'true' } })).toEqual(project);
  });
});
