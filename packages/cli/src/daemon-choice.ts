/** A process is one command: what `--no-daemon` says counts for all of it. */
let isWanted = true;

export function goWithoutDaemon(): void {
  isWanted = false;
}

export function usesDaemon(): boolean {
  return isWanted;
}
