import type { ConfigFile } from '@caisson/protocol';
import type { ConfigDocument } from './config-document.ts';
import type { ConfigRow } from './contract.ts';
import type { Settings } from './gather-settings.ts';
import { formatPath } from './parse-config.ts';

/** The settings first, then every other leaf of the file in its own order. */
export function listRows(settings: Settings, file: ConfigFile, document: ConfigDocument | null): ConfigRow[] {
  const rows: ConfigRow[] = [...settings.values()];
  if (document === null) return rows;
  const isListed = (key: string): boolean => rows.some((row) => row.key === key);
  for (const { path, value } of listLeaves(file, [])) {
    const key = formatPath(path);
    if (isListed(key)) continue;
    rows.push({ key, value, source: 'file', from: document.file, line: document.locate(path).line });
  }
  return rows;
}

/** Lists of plain values stay whole: `network.hosts` reads better than `network.hosts[0]`. */
function* listLeaves(
  value: unknown,
  path: readonly PropertyKey[],
): Generator<{ path: readonly PropertyKey[]; value: unknown }> {
  const isBranch = typeof value === 'object' && value !== null;
  if (!isBranch || (Array.isArray(value) && value.every((item) => typeof item !== 'object'))) {
    if (value !== undefined) yield { path, value };
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    yield* listLeaves(inner, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}
