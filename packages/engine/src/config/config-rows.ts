import type { ConfigDocument } from './config-document.ts';
import type { Ask, ConfigRow } from './contract.ts';
import type { Layer, Settings } from './gather-settings.ts';
import { formatPath } from './parse-config.ts';

/** The settings first, then every other leaf of the files in their own order, then what has no effect yet. */
export function listRows(settings: Settings, layers: readonly Layer[], withheld: WithheldKeys): ConfigRow[] {
  const rows: ConfigRow[] = [...settings.values()];
  const known = new Set(rows.map((row) => row.key));
  for (const { source, file, document } of layers) {
    for (const { path, value } of listLeaves(file, [])) {
      const key = formatPath(path);
      if (known.has(key)) continue;
      known.add(key);
      rows.push({ key, value, source, from: document.file, line: document.locate(path).line });
    }
  }
  return [...rows, ...listWithheld(withheld)];
}

/** What the project's file asks for without an agreement. */
interface WithheldKeys {
  readonly asks: readonly Ask[];
  readonly document: ConfigDocument | null;
}

function listWithheld({ asks, document }: WithheldKeys): ConfigRow[] {
  if (document === null) return [];
  return asks.flatMap((ask) =>
    [...listLeaves(ask.value, ask.path)].map(({ path, value }) => ({
      key: formatPath(path),
      value,
      source: 'file' as const,
      from: document.file,
      line: document.locate(path).line,
      isWithheld: true as const,
    })),
  );
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
