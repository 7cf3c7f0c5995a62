/** Where the configuration names files and secrets: one list for all code that must find them. */
import { isAbsolute, join } from 'node:path';

/** A path of keys; `*` is any name of a map or any place of a list. */
export type KeyPattern = readonly string[];

/** Files and folders. */
export const FILE_PATHS: readonly KeyPattern[] = [
  ['runtimes', '*', 'adapter'],
  ['capabilities', '*'],
  ['sandbox', 'toolchains', '*'],
  ['git', 'knownHosts'],
  ['git', 'identity'],
  ['api', 'certificate'],
  ['api', 'key'],
];

/** Secret references. */
export const SECRET_PATHS: readonly KeyPattern[] = [
  ['runtimes', '*', 'apiKey'],
  ['network', 'services', '*', 'apiKey'],
  ['git', 'token'],
  ['envs', '*', 'secrets', '*'],
  ['callbacks', '*', 'key'],
  ['callbacks', '*', 'authorization'],
  ['telemetry', 'headers', '*'],
];

/** A copy of `value` with every text at the pattern changed. */
export function mapAt(value: unknown, [key, ...rest]: KeyPattern, change: (text: string) => string): unknown {
  if (key === undefined) return typeof value === 'string' ? change(value) : value;
  if (Array.isArray(value)) return value.map((item) => mapAt(item, rest, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      key === '*' || key === name ? mapAt(member, rest, change) : (member as unknown),
    ]),
  );
}

export function expandHome(path: string, home: string): string {
  if (isAbsolute(path)) return path;
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path;
}
