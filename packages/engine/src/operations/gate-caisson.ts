/** The project as a daemon's callers have it: once the daemon ends, no run and no longer change gets in (DM3). */
import type { Caisson } from '../caisson-contract.ts';
import type { Gate } from '../daemon/index.ts';

/** A daemon that drains waits for what starts a run as for the run, and for a change only for a moment at its end. */
export type Gates = Readonly<Record<'starts' | 'changes', Gate>>;

const STARTS = ['dispatch', 'continue', 'retry', 'answer'] as const;
const KEEPS = ['saveOutputs', 'apply', 'export', 'seal', 'forget', 'drain', 'gc'] as const;
const BRANCHES = ['pushBranch', 'dropBranch'] as const;

/**
 * What reads, what steers a run that is under way (cancel, send, decide), and what is one write (tokens, boards, findings,
 * sessions) is answered until its socket is closed.
 */
export function gateCaisson(
  caisson: Caisson,
  { starts, changes }: Gates,
  residents: Caisson['residents'],
): Caisson {
  return {
    ...caisson,
    ...gateEach(caisson, STARTS, starts),
    ...gateEach(caisson, [...KEEPS, ...BRANCHES], changes),
    registry: { ...caisson.registry, ...gateEach(caisson.registry, ['register', 'registerFolder'], changes) },
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
