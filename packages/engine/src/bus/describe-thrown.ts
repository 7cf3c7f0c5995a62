/** Describes a thrown value, even a hostile one (a getter that throws, no prototype, a proxy). */
export function describeThrown(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'a value that cannot be turned into text';
  }
}
