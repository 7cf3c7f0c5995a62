/** The signals that ask a process to stop its runs. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface StopOrder {
  readonly signal: (typeof STOP_SIGNALS)[number];
  /** The first signal asks, every further one forces. */
  readonly force: boolean;
}

/** Hands every such signal to `obey` instead of dying of it. Returns how to end that. */
export function onStopSignals(obey: (order: StopOrder) => void): () => void {
  let count = 0;
  const listeners = STOP_SIGNALS.map((signal) => {
    const listener = (): void => obey({ signal, force: ++count > 1 });
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => listeners.forEach((stop) => stop());
}
