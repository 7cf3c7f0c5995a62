/**
 * The grant lattice. Every field is its own lattice, so the greatest lower bound of two grants is taken field by field
 * and is exact:
 *
 * - mode, depth, limits, budget: chains; the smaller one. A missing limit is the top (unlimited).
 * - read, write: sets of folder prefixes; the folders that both sides cover, in canonical form.
 * - hosts, tools: sets with `*` as top; the intersection.
 * - envs: a set; the intersection. A missing one is the bottom (none).
 * - sandbox: `bwrap` is below `none`.
 *
 * Canonical form (sorted, without a prefix that another one covers, `*` alone) makes equal grants equal values: the
 * worker reports its grant and the host compares.
 */
import { MODES, type BudgetCaps, type Grant, type Limits } from '@caisson/protocol';
import { coversFolder, meetFolders, normalizeFolders } from './folder-set.ts';
import { coversName, meetNames, normalizeNames } from './name-set.ts';

const LIMIT_KEYS = ['memory', 'cpus', 'pids', 'disk', 'wall'] as const satisfies readonly (keyof Limits)[];
const BUDGET_KEYS = ['usd', 'tokens', 'turns', 'toolCalls'] as const satisfies readonly (keyof BudgetCaps)[];

/** The greatest grant that is within both: no child that got it is wider than its parent. */
export function meet(parent: Grant, request: Grant): Grant {
  return {
    mode: rank(parent) <= rank(request) ? parent.mode : request.mode,
    read: meetFolders(parent.read, request.read),
    write: meetFolders(parent.write, request.write),
    hosts: meetNames(parent.hosts, request.hosts),
    tools: meetNames(parent.tools, request.tools),
    ...envsOf(meetNames(parent.envs ?? [], request.envs ?? [])),
    limits: meetCaps(LIMIT_KEYS, parent.limits, request.limits),
    budget: meetCaps(BUDGET_KEYS, parent.budget, request.budget),
    depth: Math.min(parent.depth, request.depth),
    sandbox: parent.sandbox === 'none' ? request.sandbox : 'bwrap',
  };
}

/** The same grant in canonical form: sets sorted and without redundant entries. */
export function normalizeGrant({ envs, ...grant }: Grant): Grant {
  return {
    ...grant,
    ...envsOf(normalizeNames(envs ?? [])),
    read: normalizeFolders(grant.read),
    write: normalizeFolders(grant.write),
    hosts: normalizeNames(grant.hosts),
    tools: normalizeNames(grant.tools),
    limits: meetCaps(LIMIT_KEYS, grant.limits, {}),
    budget: meetCaps(BUDGET_KEYS, grant.budget, {}),
  };
}

/** Whether `child` permits nothing that `parent` does not. */
export function isWithin(child: Grant, parent: Grant): boolean {
  return describeExcess(child, parent).length === 0;
}

/** One sentence for each thing that `child` permits and `parent` does not; empty when within. */
export function describeExcess(child: Grant, parent: Grant): string[] {
  const excess: string[] = [];
  if (rank(child) > rank(parent)) excess.push(`mode ${child.mode} is above ${parent.mode}`);
  for (const key of ['read', 'write'] as const) {
    for (const folder of child[key]) {
      if (!coversFolder(parent[key], folder))
        excess.push(`${key} ${folder} is outside ${listed(parent[key])}`);
    }
  }
  for (const key of ['hosts', 'tools', 'envs'] as const) {
    const allowed = parent[key] ?? [];
    for (const name of child[key] ?? []) {
      if (!coversName(allowed, name)) excess.push(`${key} ${name} is not among ${listed(allowed)}`);
    }
  }
  excess.push(...excessOfCaps('limit', LIMIT_KEYS, child.limits, parent.limits));
  excess.push(...excessOfCaps('budget', BUDGET_KEYS, child.budget, parent.budget));
  if (child.depth > parent.depth) excess.push(`depth ${child.depth} is more than ${parent.depth}`);
  if (child.sandbox === 'none' && parent.sandbox !== 'none')
    excess.push(`sandbox none is weaker than ${parent.sandbox}`);
  return excess;
}

/** Absent fields stay absent, so that equal grants stay equal values. */
function envsOf(envs: string[]): { envs?: string[] } {
  return envs.length === 0 ? {} : { envs };
}

function rank(grant: Grant): number {
  return MODES.indexOf(grant.mode);
}

type Caps<K extends string> = { [key in K]?: number | undefined };

function meetCaps<K extends string>(keys: readonly K[], a: Caps<K>, b: Caps<K>): { [key in K]?: number } {
  const met: { [key in K]?: number } = {};
  for (const key of keys) {
    const cap = Math.min(a[key] ?? Infinity, b[key] ?? Infinity);
    if (cap !== Infinity) met[key] = cap;
  }
  return met;
}

function excessOfCaps<K extends string>(
  what: string,
  keys: readonly K[],
  child: Caps<K>,
  parent: Caps<K>,
): string[] {
  const excess: string[] = [];
  for (const key of keys) {
    const cap = parent[key];
    const asked = child[key] ?? Infinity;
    if (cap !== undefined && asked > cap) {
      excess.push(`${what} ${key} ${asked === Infinity ? 'unlimited' : asked} is more than ${cap}`);
    }
  }
  return excess;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '(none)' : names.join(', ');
}
