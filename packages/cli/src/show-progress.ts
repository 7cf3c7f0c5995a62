import type { Output } from './output.ts';

const EVERY_MS = 100;
/** What is over sooner shows nothing: a line that only flickers is no help. */
const FIRST_MS = 500;

/** What takes a while shows how far it is, on a terminal alone, until all is done. */
export function showProgress(
  output: Output,
  describe: (done: number, total: number) => string,
): (done: number, total: number) => void {
  if (!showsProgress(output)) return () => undefined;
  const firstAtMs = performance.now() + FIRST_MS;
  let shownAtMs = 0;
  return (done, total) => {
    const nowMs = performance.now();
    if (nowMs < firstAtMs || (nowMs - shownAtMs < EVERY_MS && done < total)) return;
    shownAtMs = nowMs;
    output.status(done >= total ? null : describe(done, total));
  };
}

/** So many events are looked through in about a second. */
const MANY = 20_000;

/** What is one look that cannot be counted is announced, if there is much to look at. The next progress replaces it. */
export function showStep(output: Output, text: string): (done: number, total: number) => void {
  return (_done, total) => {
    if (showsProgress(output) && total >= MANY) output.status(text);
  };
}

export function showsProgress({ isInteractive, format }: Output): boolean {
  return isInteractive && format === 'human';
}
