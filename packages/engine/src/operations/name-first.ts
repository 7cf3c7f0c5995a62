const MAX_NAMED = 5;

/** The first findings in one line, and how many more there are. */
export function nameFirst(findings: readonly string[]): string {
  const more = findings.length > MAX_NAMED ? `; and ${findings.length - MAX_NAMED} more` : '';
  return `${findings.slice(0, MAX_NAMED).join('; ')}${more}`;
}
