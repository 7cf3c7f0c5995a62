/** Which senses an ending of a run concerns: those that were declared before it. A later host knows it, too. */
import type { KeyValues, Ledger } from '../ledger/index.ts';
import type { SenseSettings } from './contract.ts';

const SPACE = 'resident-run-listeners';

export interface RunListeners {
  /** These are declared now, and no others. */
  set(senses: readonly SenseSettings[]): void;
  /** Whether this sense was declared before this event. */
  concerns(sense: string, offset: number): boolean;
}

export function createRunListeners({
  ledger,
  warn,
}: {
  readonly ledger: Pick<Ledger, 'lastOffset'> & { readonly kv: KeyValues };
  warn(message: string): void;
}): RunListeners {
  const since = new Map(ledger.kv.list(SPACE).map(({ key, value }) => [key, Number(value)]));
  const keep = (write: () => unknown): void => {
    try {
      write();
    } catch (error) {
      warn(`which senses listen for endings of runs is not recorded: ${(error as Error).message}`);
    }
  };
  return {
    set(senses) {
      const listening = senses.filter(({ on }) => on.some(({ kind }) => kind === 'runs'));
      const names = new Set(listening.map(({ name }) => name));
      for (const name of since.keys()) {
        if (names.has(name)) continue;
        since.delete(name);
        keep(() => ledger.kv.delete(SPACE, name));
      }
      for (const name of names) {
        if (since.has(name)) continue;
        const offset = ledger.lastOffset();
        since.set(name, offset);
        keep(() => ledger.kv.set(SPACE, name, offset));
      }
    },
    concerns: (sense, offset) => offset > (since.get(sense) ?? Infinity),
  };
}
