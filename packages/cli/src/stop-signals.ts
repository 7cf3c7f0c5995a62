/** The signals that ask a process to stop its runs. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** timeout(1) sends its signal twice: to the process and to its group. A person needs longer for a second one. */
const SAME_SIGNAL_MS = 250;

export interface StopOrder {
  readonly signal: (typeof STOP_SIGNALS)[number];
  /** The first signal asks, every later one forces. */
  readonly force: boolean;
}

/** Passes every such signal to `obey` instead of dying of it. Returns a function that ends that. */
export function onStopSignals(obey: (order: StopOrder) => void): () => void {
  let firstMs: number | null = null;
  const listeners = STOP_SIGNALS.map((signal) => {
    const listener = (): void => {
      const nowMs = performance.now();
      const isFirst = firstMs === null;
      firstMs ??= nowMs;
      if (isFirst || nowMs - firstMs > SAME_SIGNAL_MS) obey({ signal, force: !isFirst });
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => listeners.forEach((stop) => stop());
}
