/** Says what was thrown, also when the thrown thing fights back (a getter that throws, no prototype, a proxy). */
export function describeThrown(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'a value that cannot be turned into text';
  }
}
