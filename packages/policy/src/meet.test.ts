import { Grant, MODES } from '@caisson/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeExcess, isWithin, meet, normalizeGrant } from './meet.ts';

const folder = fc
  .array(fc.constantFrom('a', 'b', 'ab', 'c.d'), { maxLength: 4 })
  .map((parts) => (parts.length === 0 ? '/' : `/${parts.join('/')}`));
const cap = fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined });
const folders = fc.array(folder, { maxLength: 4 });
const grant: fc.Arbitrary<Grant> = fc
  .record({
    mode: fc.constantFrom(...MODES),
    read: folders,
    write: folders,
    hosts: fc.array(fc.constantFrom('*', 'a.example:443', 'b.example:443', 'a.example:80'), { maxLength: 3 }),
    tools: fc.array(fc.constantFrom('*', 'Read', 'Bash', 'Edit'), { maxLength: 3 }),
    envs: fc.array(fc.constantFrom('staging@1a', 'staging@2b', 'prod@3c'), { maxLength: 3 }),
    limits: fc.record({ memory: cap, cpus: cap, pids: cap, disk: cap, wall: cap }),
    budget: fc.record({ usd: cap, tokens: cap, turns: cap, toolCalls: cap }),
    depth: fc.nat(4),
    sandbox: fc.constantFrom('bwrap' as const, 'none' as const),
  })
  .map((value) => normalizeGrant(value));

describe('meet', () => {
  it('is idempotent', () => {
    fc.assert(fc.property(grant, (a) => void expect(meet(a, a)).toEqual(a)));
  });

  it('is commutative', () => {
    fc.assert(fc.property(grant, grant, (a, b) => void expect(meet(a, b)).toEqual(meet(b, a))));
  });

  it('is associative', () => {
    fc.assert(
      fc.property(
        grant,
        grant,
        grant,
        (a, b, c) => void expect(meet(meet(a, b), c)).toEqual(meet(a, meet(b, c))),
      ),
    );
  });

  it('is a lower bound, and the greatest one', () => {
    fc.assert(
      fc.property(grant, grant, grant, (a, b, c) => {
        const met = meet(a, b);
        expect(isWithin(met, a) && isWithin(met, b)).toBe(true);
        expect(isWithin(c, met)).toBe(isWithin(c, a) && isWithin(c, b));
      }),
    );
  });

  it('agrees with isWithin: a grant is within another exactly when meeting it changes nothing', () => {
    fc.assert(
      fc.property(grant, grant, (a, b) => {
        expect(isWithin(a, b)).toBe(JSON.stringify(meet(a, b)) === JSON.stringify(normalizeGrant(a)));
      }),
    );
  });

  it('yields what the grant schema accepts', () => {
    fc.assert(
      fc.property(grant, grant, (a, b) => void expect(Grant.safeParse(meet(a, b)).success).toBe(true)),
    );
  });

  it('covers a folder exactly when both sides cover it', () => {
    fc.assert(
      fc.property(grant, grant, folder, (a, b, path) => {
        const probe = (g: Grant) => isWithin({ ...g, write: [path] }, g);
        expect(probe(meet(a, b))).toBe(probe(a) && probe(b));
      }),
    );
  });

  it('never lets a descendant of a random tree be wider than any of its ancestors', () => {
    const tree = fc.array(fc.record({ parent: fc.nat(), request: grant }), { minLength: 1, maxLength: 25 });
    fc.assert(
      fc.property(grant, tree, (root, nodes) => {
        const grants = [root];
        const parents = [-1];
        for (const node of nodes) {
          const parent = node.parent % grants.length;
          grants.push(meet(grants[parent] ?? root, node.request));
          parents.push(parent);
        }
        for (const [index, child] of grants.entries()) {
          for (let up = parents[index] ?? -1; up >= 0; up = parents[up] ?? -1) {
            expect(describeExcess(child, grants[up] ?? root)).toEqual([]);
          }
        }
      }),
    );
  });

  it('does not take /ab for a folder below /a', () => {
    const base = normalizeGrant(fc.sample(grant, { numRuns: 1, seed: 1 })[0] as Grant);
    expect(meet({ ...base, read: ['/a'] }, { ...base, read: ['/ab', '/a/b'] }).read).toEqual(['/a/b']);
  });
});

describe('describeExcess', () => {
  it('names every field in which the child is wider', () => {
    const parent: Grant = {
      mode: 'auto-edit',
      read: ['/srv'],
      write: ['/srv/a'],
      hosts: [],
      tools: ['Read'],
      limits: { memory: 10 },
      budget: { usd: 1 },
      depth: 1,
      sandbox: 'bwrap',
    };
    const child: Grant = {
      mode: 'full-auto',
      read: ['/'],
      write: ['/srv/ab'],
      hosts: ['*'],
      tools: ['*'],
      limits: {},
      budget: { usd: 2 },
      depth: 2,
      sandbox: 'none',
    };
    expect(describeExcess(child, parent)).toEqual([
      'mode full-auto is above auto-edit',
      'read / is outside /srv',
      'write /srv/ab is outside /srv/a',
      'hosts * is not among (none)',
      'tools * is not among Read',
      'limit memory unlimited is more than 10',
      'budget usd 2 is more than 1',
      'depth 2 is more than 1',
      'sandbox none is weaker than bwrap',
    ]);
  });
});
