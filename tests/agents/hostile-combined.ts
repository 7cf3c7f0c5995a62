import { HOSTILE } from './hostile-settings.ts';

/** All settings of a program at once, for one run instead of many; of a program without any, those of all. */
export function combinedFiles(name: string, root: string): Readonly<Record<string, string>> {
  const settings = HOSTILE[name]?.settings ?? Object.values(HOSTILE).flatMap((program) => program.settings);
  const combined: Record<string, string> = {};
  for (const { files } of settings)
    for (const [path, content] of Object.entries(files(root)))
      combined[path] = combined[path] === undefined ? content : join(path, combined[path], content);
  return combined;
}

/** JSON is merged member by member; TOML goes on where it ended. */
function join(path: string, left: string, right: string): string {
  if (!/\.jsonc?$/.test(path)) return left === right ? left : `${left}${right}`;
  return JSON.stringify(mergeValues(JSON.parse(left), JSON.parse(right)));
}

function mergeValues(left: unknown, right: unknown): unknown {
  if (!isRecord(left) || !isRecord(right)) return right;
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      name in left && name in right ? mergeValues(left[name], right[name]) : (right[name] ?? left[name]),
    ]),
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
