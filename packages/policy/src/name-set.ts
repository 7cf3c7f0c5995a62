/** Sets of names in which `*` stands for every name. Canonical: sorted, `*` alone. */

export function coversName(names: readonly string[], name: string): boolean {
  return names.includes('*') || names.includes(name);
}

export function meetNames(a: readonly string[], b: readonly string[]): string[] {
  if (a.includes('*')) return normalizeNames(b);
  if (b.includes('*')) return normalizeNames(a);
  return normalizeNames(a.filter((name) => b.includes(name)));
}

export function normalizeNames(names: readonly string[]): string[] {
  return names.includes('*') ? ['*'] : [...new Set(names)].sort();
}
