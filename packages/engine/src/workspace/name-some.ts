const MAX_NAMED = 5;

/** The first names, and how many more there are: a warning is one line. */
export function nameSome(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
