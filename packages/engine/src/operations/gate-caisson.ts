/** The project as a daemon's callers have it: once the daemon ends, nothing that changes something gets in (DM3). */
import type { Caisson } from '../caisson-contract.ts';
import type { Gate } from '../daemon/index.ts';

const STARTS = ['dispatch', 'continue', 'retry', 'answer'] as const;
const KEEPS = ['saveOutputs', 'apply', 'export', 'seal', 'forget', 'drain', 'gc'] as const;
const BRANCHES = ['pushBranch', 'dropBranch'] as const;

/** What reads, and what steers a run that is under way (cancel, send, decide), is answered until its socket is closed. */
export function gateCaisson(caisson: Caisson, gate: Gate, residents: Caisson['residents']): Caisson {
  return {
    ...caisson,
    ...gateEach(caisson, [...STARTS, ...KEEPS, ...BRANCHES], gate),
    registry: { ...caisson.registry, ...gateEach(caisson.registry, ['register', 'registerFolder'], gate) },
    residents,
  };
}

function gateEach<T extends object, K extends keyof T>(api: T, names: readonly K[], gate: Gate): Pick<T, K> {
  const gated = names.map((name) => {
    const work = api[name] as (...given: unknown[]) => Promise<unknown>;
    return [name, (...given: unknown[]) => gate.enter(() => work(...given))];
  });
  return Object.fromEntries(gated) as Pick<T, K>;
}
