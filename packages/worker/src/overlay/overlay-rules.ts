/**
 * How two files at the same path become one. Settings of a runtime have fixed rules, so that no capability can remove
 * another's settings; otherwise a capability may declare rules in its `.caisson/overlay.json`:
 *
 *   { "rules": [ { "path": "config/*.json", "strategy": "deep-merge", "arrays": "replace" } ] }
 *
 * The first rule that matches counts; if none does, the last write wins.
 */
import { RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { ArrayMerge } from './merge-json.ts';

export type Strategy =
  | { readonly kind: 'last-write-wins' }
  | { readonly kind: 'deep-merge'; readonly arrays: ArrayMerge }
  | { readonly kind: 'array-union' };

const Rule = z.strictObject({
  path: z.string().check(z.minLength(1), z.maxLength(1024)),
  strategy: z.enum(['last-write-wins', 'deep-merge', 'array-union']),
  arrays: z.optional(z.enum(['union', 'replace', 'concat'])),
});
export const OverlayRules = z.strictObject({ rules: z.array(Rule).check(z.maxLength(256)) });
export type OverlayRules = z.infer<typeof OverlayRules>;

const REPOSITORIES = Object.values(RUNTIME_DESCRIPTORS).flatMap(({ repository }) => repository ?? []);

/** Settings that runtimes read: merged member by member, lists united. */
const RESERVED_SETTINGS: readonly string[] = REPOSITORIES.flatMap(({ merged }) => merged ?? []);

/** Folders of skills: each entry in one is a skill, and a skill comes from one capability as a whole. */
export const SKILL_FOLDERS: readonly string[] = [
  '.agents/skills',
  ...REPOSITORIES.flatMap(({ skills }) => skills ?? []),
];

export function chooseStrategy(path: string, declared: OverlayRules | null): Strategy {
  if (RESERVED_SETTINGS.includes(path)) return { kind: 'deep-merge', arrays: 'union' };
  const rule = declared?.rules.find((candidate) => globToRegExp(candidate.path).test(path));
  if (rule === undefined) return { kind: 'last-write-wins' };
  return rule.strategy === 'deep-merge'
    ? { kind: 'deep-merge', arrays: rule.arrays ?? 'union' }
    : { kind: rule.strategy };
}

/** The folder of the skill that a path belongs to, or null. */
export function skillOf(path: string): string | null {
  const folder = SKILL_FOLDERS.find((candidate) => path.startsWith(`${candidate}/`));
  const name = folder === undefined ? undefined : path.slice(folder.length + 1).split('/');
  return folder === undefined || name === undefined || name.length < 2 ? null : `${folder}/${name[0]}`;
}

/** `*` and `?` stay within a folder, `**` does not. */
function globToRegExp(glob: string): RegExp {
  const source = glob.replaceAll(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : `\\${part}`;
  });
  return new RegExp(`^${source}$`);
}
