import { definedOnly } from '@caisson/protocol';
import type { BundleManifest } from '../store/index.ts';
import type { DiffLine } from './contract.ts';

const MAX_SHOWN = 200;

/** Member by member; `hideValues` for what must not be shown. */
export function diffDefinitions(before: unknown, after: unknown, hideValues: boolean): DiffLine[] {
  const [old, now] = [flatten(before), flatten(after)];
  const shown = (value: string) => (hideValues ? undefined : value.slice(0, MAX_SHOWN));
  const lines: DiffLine[] = [];
  for (const path of [...new Set([...old.keys(), ...now.keys()])].toSorted()) {
    const [was, is] = [old.get(path), now.get(path)];
    if (was === is) continue;
    if (was === undefined) lines.push(line('+', path, undefined, shown(is ?? '')));
    else if (is === undefined) lines.push(line('-', path, shown(was), undefined));
    else lines.push(line('~', path, shown(was), shown(is)));
  }
  return lines;
}

/** File by file. */
export function diffBundles(before: BundleManifest, after: BundleManifest): DiffLine[] {
  const identify = (manifest: BundleManifest) =>
    new Map(manifest.entries.map((entry) => [entry.path, JSON.stringify(entry)]));
  const [old, now] = [identify(before), identify(after)];
  return [...new Set([...old.keys(), ...now.keys()])].toSorted().flatMap((path): DiffLine[] => {
    if (old.get(path) === now.get(path)) return [];
    if (!old.has(path)) return [{ sign: '+', path }];
    return [{ sign: now.has(path) ? '~' : '-', path }];
  });
}

function line(
  sign: DiffLine['sign'],
  path: string,
  before: string | undefined,
  after: string | undefined,
): DiffLine {
  return {
    sign,
    path,
    ...definedOnly({ before, after }),
  };
}

function flatten(value: unknown, path = '', into = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null) return into.set(path, JSON.stringify(value) ?? 'null');
  const entries = Object.entries(value);
  if (entries.length === 0) into.set(path, Array.isArray(value) ? '[]' : '{}');
  for (const [key, member] of entries) flatten(member, path === '' ? key : `${path}.${key}`, into);
  return into;
}
