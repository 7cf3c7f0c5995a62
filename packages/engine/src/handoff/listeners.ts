/** WP4: each listener is called by itself; what it throws, now or later, is only reported. */
export interface Listeners<A extends readonly unknown[]> {
  add(listener: (...args: A) => unknown): void;
  call(...args: A): void;
}

export function createListeners<A extends readonly unknown[]>(log: (line: string) => void): Listeners<A> {
  const listeners = new Set<(...args: A) => unknown>();
  const report = (error: unknown): void => log(`a listener failed: ${String(error)}`);
  const callOne = async (listener: (...args: A) => unknown, args: A): Promise<void> => {
    await listener(...args);
  };
  return {
    add: (listener) => void listeners.add(listener),
    call: (...args) => {
      for (const listener of listeners) callOne(listener, args).catch(report);
    },
  };
}
