/**
 * 24 digits that no other name of a file has. They are no secret: who makes a file with them refuses one that
 * exists. Not from `node:crypto`, which takes a short process 4 ms to load.
 */
export function unusedName(): string {
  return unusedDigits() + unusedDigits();
}

function unusedDigits(): string {
  return Math.floor(Math.random() * 2 ** 48)
    .toString(16)
    .padStart(12, '0');
}
