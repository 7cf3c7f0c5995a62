/** The short form of `npm run test:faults`: a case or two of every kind that is a fault, with a fixed seed. */
import { describe, expect, it } from 'vitest';
import { chooseSetting, randomOf } from './harness/choose.ts';
import { findCut, findRepeatedLines } from './harness/invariants/adopted.ts';
import { KINDS } from './harness/kinds.ts';
import { SOAKED, soakOnce } from './harness/kinds/soak.ts';
import { OptionsError, parseOptions } from './harness/options.ts';
import { runAll } from './harness/run-all.ts';
import { openStage } from './harness/stage.ts';
import { createTable, formatTable } from './harness/table.ts';

/** Chosen to be short, and so that the fault happens: they wait for something that every run has. */
const CASES: readonly { readonly kind: string; readonly seed: number; readonly only: number }[] = [
  { kind: 'kill', seed: 11, only: 1 },
  { kind: 'kill', seed: 2, only: 10 },
  { kind: 'kill', seed: 1, only: 18 },
  { kind: 'kill', seed: 1, only: 28 },
  { kind: 'errno', seed: 1, only: 9 },
  { kind: 'disk', seed: 1, only: 13 },
  { kind: 'freeze', seed: 11, only: 2 },
  { kind: 'clock', seed: 11, only: 0 },
  { kind: 'power', seed: 1, only: 5 },
  { kind: 'git', seed: 1, only: 2 },
  { kind: 'lock', seed: 2, only: 7 },
  { kind: 'stale', seed: 9101, only: 31 },
  { kind: 'pair', seed: 1, only: 23 },
  { kind: 'recovery', seed: 11, only: 1 },
  { kind: 'adoption', seed: 9, only: 10 },
];

describe('the fault harness', { timeout: 180_000 }, () => {
  for (const { kind: name, seed, only } of CASES) {
    it(`finds nothing broken after case ${only} of kind ${name} with seed ${seed}`, async (context) => {
      const kinds = KINDS.filter((kind) => kind.name === name);
      const obstacle = kinds[0]?.findObstacle() ?? null;
      if (obstacle !== null) context.skip(obstacle);
      const [report] = await runAll({ kinds, seed, count: 1, only, jobs: 1 });
      expect({ violations: report?.violations, missed: report?.missed }, report?.repeat).toEqual({
        violations: [],
        missed: 0,
      });
    });
  }

  it('finds nothing broken after twenty runs through one host', async () => {
    const stage = await openStage(chooseSetting(randomOf(1, 'soak', 0), SOAKED));
    try {
      expect((await soakOnce(stage, 20)).violations).toEqual([]);
    } finally {
      await stage.close();
    }
  });

  it('plans the same cases for the same seed, and others for another', () => {
    const plan = (seed: number): string[] =>
      KINDS.map((kind) => kind.plan(randomOf(seed, kind.name, 3), 3, 20).name);
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it('understands its options, and refuses others', () => {
    const { kinds, ...rest } = parseOptions(['--kind', 'kill,errno', '--seed', '4', '--only', '9']);
    expect(kinds.map(({ name }) => name)).toEqual(['kill', 'errno']);
    expect(rest).toEqual({ seed: 4, count: 20, only: 9, jobs: 2, publishes: false, results: null });
    for (const args of [
      ['--kind', 'fire'],
      ['--count', 'many'],
      ['--trees', '2'],
    ])
      expect(() => parseOptions(args)).toThrow(OptionsError);
  });

  it('counts the faults that struck, and not the cases', () => {
    const common = {
      outcome: 'done',
      violations: [],
      kind: 'kill',
      seed: 1,
      name: '',
      tookMs: 1000,
      repeat: '',
    } as const;
    const kinds = KINDS.filter((kind) => kind.name === 'kill');
    const table = createTable(kinds, [
      { ...common, index: 0, struck: 2, missed: 0 },
      { ...common, index: 1, struck: 0, missed: 1, violations: ['ends: never'] },
    ]);
    expect(table[1]).toEqual(['kill', '2', '2', '2', '0', '0', '0', '1', '1.0', '1.0']);
    expect(formatTable(table).split('\n')).toHaveLength(3);
  });
});

describe('the judgement of a run that was adopted', () => {
  it('finds an event of its worker that is there twice, of any kind, and nothing in what only looks alike', () => {
    const event = (id: string, at: string, type = 'tool.started' as const) => ({
      ...{ id, at, type, runId: 'run_a', attempt: 1, data: { callId: 'c1', tool: 'shell' } as never },
    });
    const [first, other] = [event('line:run_a.1.4', 'noon'), event('line:run_a.1.5', 'noon')];
    expect(findRepeatedLines([first, other, event('one', 'later'), event('two', 'later')])).toEqual([]);
    expect(findRepeatedLines([first, first])).toEqual(['once: a line of the worker is there twice']);
    expect(findRepeatedLines([first, event('one', 'noon')])).toEqual([
      'once: tool.started of the worker is there again, by another way',
    ]);
  });

  it('finds an answer of the model that was cut off, whatever became of the run', () => {
    const model = (asked: number, outputTokens: number) =>
      ({ modelRequests: () => Array.from({ length: asked }), usage: () => ({ outputTokens }) }) as never;
    expect([findCut(model(0, 0)), findCut(model(3, 3))]).toEqual([[], []]);
    expect(findCut(model(3, 2))).toEqual(['not-cut-off: 3 requests, 2 whole answers']);
  });
});
