/** Which senses an ending of a run concerns: those that were declared before it. A later host knows it, too. */
import type { KeyValues, Ledger } from '../ledger/index.ts';
import type { SenseSettings } from './contract.ts';
import { findDeliveredOffset } from './delivery-cursor.ts';
import { RUN_ENDINGS } from './run-endings.ts';

const SPACE = 'resident-run-listeners';
/** The row that says that this space was written before, perhaps without any sense. No sense has this name. */
const BEGUN = '*';

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
  readonly ledger: Pick<Ledger, 'alone' | 'lastOffset' | 'whenFree'> & { readonly kv: KeyValues };
  warn(message: string): void;
}): RunListeners {
  const since = new Map(ledger.kv.list(SPACE).map(({ key, value }) => [key, Number(value)]));
  return {
    set(senses) {
      const listening = senses.filter(({ on }) => on.some(({ kind }) => kind === 'runs'));
      const names = new Set([BEGUN, ...listening.map(({ name }) => name)]);
      const gone = [...since.keys()].filter((name) => !names.has(name));
      const added = [...names].filter((name) => !since.has(name));
      if (gone.length + added.length === 0) return;
      const offset = since.has(BEGUN) ? ledger.lastOffset() : findFirstOffset(ledger);
      for (const name of gone) since.delete(name);
      for (const name of added) since.set(name, offset);
      const write = (): void => {
        for (const name of gone) ledger.kv.delete(SPACE, name);
        for (const name of added) ledger.kv.set(SPACE, name, offset);
      };
      void ledger
        .whenFree(() => ledger.alone(write))
        .catch(({ message }: Error) =>
          warn(`which senses listen for endings of runs is not recorded: ${message}`),
        );
    },
    concerns: (sense, offset) => offset > (since.get(sense) ?? Infinity),
  };
}

/** An earlier version delivered endings and kept no listeners: those that it had not delivered concern all of today's. */
function findFirstOffset(ledger: Pick<Ledger, 'lastOffset'> & { readonly kv: KeyValues }): number {
  return findDeliveredOffset(ledger.kv, RUN_ENDINGS) ?? ledger.lastOffset();
}
