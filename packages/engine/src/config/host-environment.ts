/**
 * The host's environment, read here and nowhere else (the boundaries check enforces that). Rooms that need a variable,
 * such as secrets for its `env:` references, get this snapshot or a part of it.
 */
export function readHostEnvironment(): Readonly<Record<string, string | undefined>> {
  return { ...process.env };
}
