/** True when the system reported one of these, as in `isErrno(error, 'ENOENT', 'ENOTDIR')`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Handles a rejection: `fallback` where the system reported one of these, as in `.catch(ifErrno(null, 'ENOENT'))`. */
export function ifErrno<F>(fallback: F, ...codes: readonly string[]): (error: unknown) => F {
  return (error) => {
    if (isErrno(error, ...codes)) return fallback;
    throw error;
  };
}

/** The same for a call that throws. */
export function unlessErrno<T, F>(call: () => T, fallback: F, ...codes: readonly string[]): T | F {
  try {
    return call();
  } catch (error) {
    return ifErrno(fallback, ...codes)(error);
  }
}
