const MAX_NAMED = 5;

/** The first names, and how many more there are: a warning is one line. */
export function nameSome(names: readonly string[], max = MAX_NAMED): string {
  const rest = names.length - max;
  return names.slice(0, max).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
