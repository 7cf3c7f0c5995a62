/** The project as a daemon's callers have it: once the daemon ends, no run and no longer change gets in (DM3). */
import type { Caisson } from '../caisson-contract.ts';
import type { Gate } from '../daemon/index.ts';
import type { RegistryApi } from './registry-api.ts';

/** A daemon that drains waits for what starts a run as for the run, and for a change only for a moment at its end. */
export type Gates = Readonly<Record<'starts' | 'changes', Gate>>;

/**
 * Through which gate each operation goes. `open`: what reads, what steers a run that is under way (cancel, send, decide),
 * and what is one write (tokens, boards, findings, sessions) is answered until the daemon's socket is closed.
 */
const GATE_OF = {
  dispatch: 'starts',
  continue: 'starts',
  retry: 'starts',
  answer: 'starts',
  saveOutputs: 'changes',
  apply: 'changes',
  export: 'changes',
  seal: 'changes',
  forget: 'changes',
  drain: 'changes',
  gc: 'changes',
  pushBranch: 'changes',
  dropBranch: 'changes',
  approval: 'open',
  approvals: 'open',
  attach: 'open',
  branches: 'open',
  budget: 'open',
  bus: 'open',
  cancel: 'open',
  checkConfig: 'open',
  close: 'open',
  config: 'open',
  continuation: 'open',
  decide: 'open',
  dispatchDetached: 'open',
  events: 'open',
  find: 'open',
  follow: 'open',
  followLog: 'open',
  lastOffset: 'open',
  log: 'open',
  patch: 'open',
  questions: 'open',
  registry: 'open',
  residents: 'open',
  runs: 'open',
  runtimes: 'open',
  send: 'open',
  serveDetached: 'open',
  sessions: 'open',
  show: 'open',
  shutdown: 'open',
  spend: 'open',
  tokens: 'open',
  usage: 'open',
  verify: 'open',
} as const satisfies GateOf<Caisson>;

const REGISTRY_GATE_OF = {
  register: 'changes',
  registerFolder: 'changes',
  get: 'open',
  list: 'open',
} as const satisfies GateOf<RegistryApi>;

/** An operation that is new does not compile before it is named. */
type GateOf<T> = Record<keyof T, keyof Gates | 'open'>;

export function gateCaisson(caisson: Caisson, gates: Gates, residents: Caisson['residents']): Caisson {
  const registry = { ...caisson.registry, ...gateEach(caisson.registry, REGISTRY_GATE_OF, gates) };
  return { ...caisson, ...gateEach(caisson, GATE_OF, gates), registry, residents };
}

function gateEach<T extends object>(api: T, gateOf: GateOf<T>, gates: Gates): Partial<T> {
  const gated = (Object.keys(gateOf) as (keyof T & string)[]).flatMap((name) => {
    const gate: keyof Gates | 'open' = gateOf[name];
    if (gate === 'open') return [];
    const work = api[name] as (...given: unknown[]) => Promise<unknown>;
    return [[name, (...given: unknown[]) => gates[gate].enter(() => work(...given))] as const];
  });
  return Object.fromEntries(gated) as Partial<T>;
}
