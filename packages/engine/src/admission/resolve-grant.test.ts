import { isWithin } from '@caisson/policy';
import { MODES, type AgentDefinition, type Grant } from '@caisson/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DispatchRequest } from './contract.ts';
import type { DispatchSettings, FoundAgent } from './rooms.ts';
import { envGrantName, resolveGrant } from './resolve-grant.ts';

const cap = fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined });
const hosts = fc.array(fc.constantFrom('a.example:443', 'b.example:443'), { maxLength: 2 });
const tools = fc.array(fc.constantFrom('*', 'board_read', 'board_write', 'dispatch'), { maxLength: 3 });
const limits = fc.record({ memory: cap, cpus: cap, pids: cap, disk: cap, wall: cap });
const budget = fc.record({ usd: cap, tokens: cap, turns: cap, toolCalls: cap });
const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

const request = fc.record({
  mode: some(fc.constantFrom(...MODES)),
  tools: some(tools),
  limits: some(limits),
  budget: some(budget),
  sandbox: some(fc.constantFrom('bwrap', 'none')),
  network: some(
    fc.oneof(
      fc.constant({ kind: 'none' }),
      fc.constant({ kind: 'full' }),
      hosts.map((list) => ({ kind: 'hosts', hosts: list })),
    ),
  ),
});
const agent = fc.option(
  fc
    .record({
      mode: some(fc.constantFrom(...MODES)),
      tools: some(tools),
      grant: some(
        fc.record({ hosts: some(hosts), limits: some(limits), budget: some(budget), depth: some(fc.nat(9)) }),
      ),
    })
    .map(
      (definition) =>
        ({ name: 'x', hash: 'x', definition: definition as AgentDefinition }) satisfies FoundAgent,
    ),
);
const envs = fc.array(
  fc.record({
    name: fc.constantFrom('staging', 'prod'),
    hash: fc.constantFrom('1a'.repeat(32), '2b'.repeat(32)),
  }),
  { maxLength: 3 },
);
const settings = fc.record({
  defaultMode: fc.constantFrom(...MODES),
  hosts,
  limits,
  budget,
  depth: fc.nat(4),
});

/** Any family: a first run, and whatever its descendants ask for, through whatever agents. */
const family = fc.record({
  settings,
  first: fc.tuple(request, envs),
  generations: fc.array(fc.tuple(request, agent, envs), { maxLength: 6 }),
});

const resolve = (
  asked: unknown,
  through: FoundAgent | null,
  house: unknown,
  bundles: readonly { name: string; hash: string }[],
  parent: Grant | null,
): Grant =>
  resolveGrant(
    {
      ...(asked as DispatchRequest),
      ...(parent === null ? {} : { parent: { runId: 'run_x', grant: parent } }),
    },
    through,
    house as DispatchSettings,
    '/project',
    bundles,
  );

describe('the grant of a run that another run asked for', () => {
  test('is never wider than its parent’s, whatever is asked for and through whatever agent', () => {
    fc.assert(
      fc.property(family, ({ settings: house, first, generations }) => {
        let parent = resolve(first[0], null, house, first[1], null);
        for (const [asked, through, bundles] of generations) {
          const child = resolve(asked, through, house, bundles, parent);
          expect(isWithin(child, parent)).toBe(true);
          const both = bundles.map(envGrantName).filter((name) => parent.envs?.includes(name));
          expect(child.envs ?? []).toEqual([...new Set(both)].toSorted());
          expect(child.depth).toBeLessThanOrEqual(Math.max(0, parent.depth - 1));
          parent = child;
        }
      }),
      { numRuns: 500 },
    );
  });
});

test('without a sandbox all hosts are granted, unless something less was asked for', () => {
  const house = { defaultMode: 'auto-edit', hosts: [], limits: {}, budget: {}, depth: 3 };
  const listed = { ...house, hosts: ['a.example:443'] };
  const hostsOf = (asked: object, of: unknown = house, parent: Grant | null = null): string[] =>
    resolve({ sandbox: 'none', ...asked }, null, of, [], parent).hosts;
  expect(hostsOf({})).toEqual(['*']);
  expect(hostsOf({ network: { kind: 'none' } })).toEqual([]);
  expect(hostsOf({}, listed)).toEqual(['a.example:443']);
  const enclosed = resolve({ network: { kind: 'full' } }, null, house, [], null);
  expect(hostsOf({}, house, enclosed)).toEqual([]); // the child is enclosed, too
});
