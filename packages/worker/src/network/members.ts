/** What others wrote is read member by member: anything may be missing, or of another type. */
export type Members = Readonly<Record<string, unknown>>;

/** Of anything but an object: none. */
export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

/** Of anything but a list: none. */
export function list(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(members) : [];
}
