const MAX_CHARACTERS = 4000;

/** What was thrown, as text, whatever it is. */
export function describeThrown(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return String(text).slice(0, MAX_CHARACTERS);
  } catch {
    return 'a value that has no text'; // its toString throws
  }
}
