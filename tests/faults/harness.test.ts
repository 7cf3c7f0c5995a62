/** The short form of `npm run test:faults`: a few cases of every kind with a fixed seed. */
import { describe, expect, it } from 'vitest';
import { randomOf } from './harness/choose.ts';
import { KINDS } from './harness/kinds.ts';
import { OptionsError, parseOptions } from './harness/options.ts';
import { runAll } from './harness/run-all.ts';
import { createTable, formatTable } from './harness/table.ts';

/** One case of each kind, chosen so that it is short and does not depend on a moment of a millisecond. */
const CASES: readonly { readonly kind: string; readonly seed: number; readonly only: number }[] = [
  { kind: 'kill', seed: 11, only: 0 },
  { kind: 'kill', seed: 11, only: 4 },
  { kind: 'errno', seed: 41, only: 4 },
  { kind: 'disk', seed: 1, only: 4 },
  { kind: 'freeze', seed: 1, only: 1 },
  { kind: 'clock', seed: 1, only: 1 },
  { kind: 'power', seed: 1, only: 3 },
  { kind: 'git', seed: 11, only: 0 },
  { kind: 'lock', seed: 1, only: 1 },
  { kind: 'stale', seed: 1, only: 2 },
  { kind: 'pair', seed: 1, only: 2 },
  { kind: 'recovery', seed: 11, only: 0 },
];

describe('the fault harness', { timeout: 180_000 }, () => {
  for (const { kind: name, seed, only } of CASES) {
    it(`finds nothing broken after case ${only} of kind ${name} with seed ${seed}`, async (context) => {
      const kinds = KINDS.filter((kind) => kind.name === name);
      const obstacle = kinds[0]?.findObstacle() ?? null;
      if (obstacle !== null) context.skip(obstacle);
      const [report] = await runAll({ kinds, seed, count: 1, only, jobs: 1 });
      expect([...(report?.violations ?? []), report?.repeat]).toEqual([report?.repeat]);
    });
  }

  it('plans the same cases for the same seed, and others for another', () => {
    const plan = (seed: number): string[] =>
      KINDS.map((kind) => kind.plan(randomOf(seed, kind.name, 3), 3).name);
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it('understands its options, and refuses others', () => {
    const { kinds, ...rest } = parseOptions(['--kind', 'kill,errno', '--seed', '4', '--only', '9']);
    expect(kinds.map(({ name }) => name)).toEqual(['kill', 'errno']);
    expect(rest).toEqual({ seed: 4, count: 20, only: 9, jobs: 2, publishes: false });
    for (const args of [
      ['--kind', 'fire'],
      ['--count', 'many'],
      ['--trees', '2'],
    ])
      expect(() => parseOptions(args)).toThrow(OptionsError);
  });

  it('counts a case without a strike as a case and not as a fault', () => {
    const common = {
      outcome: 'done',
      violations: [],
      kind: 'kill',
      name: '',
      tookMs: 1000,
      repeat: '',
    } as const;
    const kinds = KINDS.filter((kind) => kind.name === 'kill');
    const table = createTable(kinds, [
      { ...common, index: 0, hasStruck: true },
      { ...common, index: 1, hasStruck: false, violations: ['ends: never'] },
    ]);
    expect(table[1]).toEqual(['kill', '2', '1', '2', '0', '0', '0', '1', '1.0', '1.0']);
    expect(formatTable(table).split('\n')).toHaveLength(3);
  });
});
