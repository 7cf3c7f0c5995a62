/**
 * The host's environment, read here and nowhere else (the boundaries check holds the line). Rooms that need a
 * variable, such as secrets for its `env:` references, are given this snapshot or a part of it.
 */
export function readHostEnvironment(): Readonly<Record<string, string | undefined>> {
  return { ...process.env };
}
