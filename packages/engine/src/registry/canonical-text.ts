/** One text for one definition: members sorted by name, so that the order in a file does not change the hash. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(sortMembers(value));
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, member]) => [key, sortMembers(member)]));
}
