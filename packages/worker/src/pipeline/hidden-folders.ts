import { dirname } from 'node:path';

/** The paths with each folder in their place that has nothing but such paths, from the inside out. */
export function hideWholeFolders(
  hidden: Iterable<string>,
  list: (folder: string) => readonly string[],
  isKept: (folder: string) => boolean,
): string[] {
  const joined = new Set(hidden);
  const seen = new Set<string>();
  const folders = [...new Set([...joined].map((path) => dirname(path)))].toSorted(byDepth);
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if (seen.has(folder) || isKept(folder)) continue;
    seen.add(folder);
    const inside = list(folder);
    if (inside.length === 0 || !inside.every((path) => joined.has(path))) continue;
    for (const path of inside) joined.delete(path);
    joined.add(folder);
    folders.push(dirname(folder));
    folders.sort(byDepth);
  }
  return [...joined];
}

const byDepth = (left: string, right: string): number => left.split('/').length - right.split('/').length;
