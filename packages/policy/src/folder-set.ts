/** Sets of absolute folder prefixes. Canonical: sorted, no prefix below another one. */

/** Whether one of `prefixes` is `folder` or contains it. */
export function coversFolder(prefixes: readonly string[], folder: string): boolean {
  return prefixes.some((prefix) => contains(prefix, folder));
}

/** Exactly the folders that both sets cover. */
export function meetFolders(a: readonly string[], b: readonly string[]): string[] {
  const shared = [
    ...a.filter((folder) => coversFolder(b, folder)),
    ...b.filter((folder) => coversFolder(a, folder)),
  ];
  return normalizeFolders(shared);
}

/** The same set in canonical form. */
export function normalizeFolders(prefixes: readonly string[]): string[] {
  const kept: string[] = [];
  // A prefix sorts before everything below it, so one pass in order is enough.
  for (const folder of [...new Set(prefixes)].sort()) {
    if (!coversFolder(kept, folder)) kept.push(folder);
  }
  return kept;
}

function contains(prefix: string, folder: string): boolean {
  return prefix === '/' || folder === prefix || folder.startsWith(`${prefix}/`);
}
