/**
 * What a project's file asks for. Every key has a mark in the schema (see `TrustMark`); this walks a parsed file along
 * the marks and splits it in two: what works at once, and what has no effect until the user agrees.
 */
import { isRecord, ConfigFile, MODES, type TrustMark } from '@caisson/protocol';
import type { Ask } from './contract.ts';
import { valueAt } from './parse-config.ts';
import { markOf, memberOfSchema, type SchemaNode } from './schema-keys.ts';
import { SETTING_DEFAULTS, type SettingKey } from './settings.ts';

export interface DividedFile {
  /** The file without what it asks for. */
  readonly harmless: ConfigFile;
  readonly asks: readonly Ask[];
}

/** Splits a project's file. Values above the user's own are lowered to them first: agreeing does not raise those. */
export function divideFile(file: ConfigFile, user: ConfigFile): DividedFile {
  const asks: Ask[] = [];
  const keep = (node: SchemaNode | undefined, value: unknown, path: readonly string[]): unknown => {
    if (!isRecord(value)) return value;
    const kept: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(value)) {
      const inner = [...path, key];
      const schema = memberOfSchema(node, key);
      const mark = markOf(schema);
      const left = decide(mark, schema, member, inner);
      if (left !== undefined) kept[key] = left;
    }
    return kept;
  };
  const decide = (
    mark: TrustMark | null,
    schema: SchemaNode | undefined,
    value: unknown,
    path: readonly string[],
  ): unknown => {
    if (value === undefined || mark === 'harmless') return value;
    if (isResident(path) || isNameOfUser(path, user)) {
      asks.push({ path, value });
      return undefined;
    }
    // A map of names (`runtimes.codex`) has no mark: its members have.
    if (mark === 'inside' || (mark === null && isRecord(value)))
      return unlessEmptied(value, keep(schema, value, path));
    if (mark === 'may-lower' && isRecord(value))
      return keepEach(value, (key, member) => decide('may-lower', undefined, member, [...path, key]));
    if (mark === 'may-lower' && !isAbove(value, bound(path, user))) return value;
    asks.push({ path, value });
    return undefined;
  };
  return { harmless: keep(ConfigFile, file, []) as ConfigFile, asks };
}

/** The file with no value above what the user's own file allows. */
export function lowerToUser(file: ConfigFile, user: ConfigFile): ConfigFile {
  const lower = (
    node: SchemaNode | undefined,
    value: unknown,
    path: readonly string[],
    inherited: TrustMark | null,
  ): unknown => {
    const mark = markOf(node) ?? inherited;
    if (isRecord(value) && (mark === null || mark === 'inside' || mark === 'may-lower'))
      return keepEach(value, (key, member) =>
        lower(memberOfSchema(node, key), member, [...path, key], mark === 'may-lower' ? mark : null),
      );
    if (mark !== 'may-lower') return value;
    // Without a value of the project, the user's own counts, and is shown with its source.
    const own = valueAt(user, path);
    if (own !== undefined) return isAbove(value, own) ? undefined : value;
    const most = valueAt(user, settingOf(path).split('.'));
    return most !== undefined && isAbove(value, most) ? most : value;
  };
  return lower(ConfigFile, file, [], null) as ConfigFile;
}

/** Code or a task that starts by itself: all of it, with its grant, is one question. */
function isResident([kind, ...names]: readonly string[]): boolean {
  return (kind === 'senses' || kind === 'workflows' || kind === 'schedules') && names.length === 1;
}

/** An entry of the project that would replace one of the user's own, such as an agent with fewer rights. */
function isNameOfUser(path: readonly string[], user: ConfigFile): boolean {
  const [kind, name, ...rest] = path;
  if ((kind !== 'agents' && kind !== 'envs') || name === undefined || rest.length > 0) return false;
  return Object.hasOwn(user[kind] ?? {}, name);
}

/** An emptied map has no meaning: it must not replace anything. */
function unlessEmptied(before: unknown, after: unknown): unknown {
  const isEmptied = isRecord(before) && isRecord(after) && Object.keys(after).length === 0;
  return isEmptied && Object.keys(before).length > 0 ? undefined : after;
}

/** The highest value that a project may set without a question: the user's own value, else the default. */
function bound(path: readonly string[], user: ConfigFile): unknown {
  const key = settingOf(path);
  return valueAt(user, key.split('.')) ?? SETTING_DEFAULTS[key as SettingKey];
}

/** An agent's own limits are limited by the general setting. */
const AGENT_SETTINGS: Readonly<Record<string, SettingKey>> = {
  mode: 'mode',
  timeout: 'limits.timeout',
  'grant.depth': 'limits.depth',
  'grant.limits.memory': 'limits.memory',
  'grant.limits.cpus': 'limits.cpus',
  'grant.limits.pids': 'limits.pids',
  'grant.limits.disk': 'limits.disk',
  'grant.limits.wall': 'limits.timeout',
  'grant.budget.usd': 'budget.perRunUsd',
  'grant.budget.tokens': 'budget.perRunTokens',
  'grant.budget.turns': 'budget.perRunTurns',
  'grant.budget.toolCalls': 'budget.perRunToolCalls',
};

function settingOf(path: readonly string[]): string {
  if (path[0] !== 'agents') return path.join('.');
  return AGENT_SETTINGS[path.slice(2).join('.')] ?? path.join('.');
}

/** `null` limits nothing. */
function isAbove(value: unknown, most: unknown): boolean {
  if (most === null || most === undefined) return false;
  return rank(value) > rank(most);
}

function rank(value: unknown): number {
  const mode = (MODES as readonly unknown[]).indexOf(value);
  return mode === -1 ? Number(value) : mode;
}

function keepEach(
  value: Record<string, unknown>,
  keep: (key: string, member: unknown) => unknown,
): Record<string, unknown> | undefined {
  const kept = Object.entries(value)
    .map(([key, member]) => [key, keep(key, member)] as const)
    .filter(([, member]) => member !== undefined);
  return Object.fromEntries(kept);
}
