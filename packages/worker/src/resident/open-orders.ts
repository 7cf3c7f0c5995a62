/** The orders that wait for their one answer, and how much the guest may say beside: as much as its own code would. */
import { MAX_UNDELIVERED, type GuestLine, type ResidentOrder } from '@caisson/protocol';

export interface OpenOrders {
  add(order: ResidentOrder): void;
  /** Takes the answer into account; what is wrong with it, or null. */
  settle(line: GuestLine): string | null;
  /** Whether a turn of this thread is open: what is logged later, or for another one, is not of that thread. */
  isInTurn(threadId: string): boolean;
  /** Whether nothing is being done: a turn that waits for a step is continued by another worker as well as by this one. */
  isIdle(): boolean;
}

interface OpenTurn {
  readonly threadId: string;
  /** The steps that it has asked for; each ordinal once. */
  readonly asked: Set<number>;
  /** Those of them that it waits for. */
  readonly open: Set<number>;
  /** Those in which its own code is at work. */
  readonly working: Set<number>;
}

/** Of one turn. */
const MAX_STEPS = 1024;
/** A compute starts its thread anew at most so often, and each start reports what was left. */
const LOADS_OF_A_COMPUTE = 3;

/** `names`: the modules that it serves, which alone log and emit. */
export function createOpenOrders(names: readonly string[]): OpenOrders {
  const computes = new Set<string>();
  const turns = new Map<string, OpenTurn>();
  /** How many lines of each sense may still be about signals that were not delivered. */
  const allowances = new Map(names.map((name) => [name, LOADS_OF_A_COMPUTE * MAX_UNDELIVERED]));
  return {
    add(order) {
      if (order.kind === 'compute') {
        computes.add(order.id);
        allowances.set(order.name, LOADS_OF_A_COMPUTE * MAX_UNDELIVERED);
      } else if (order.kind === 'turn')
        turns.set(order.id, {
          threadId: order.threadId,
          asked: new Set(),
          open: new Set(),
          working: new Set(),
        });
      else if (order.kind === 'step-done') turns.get(order.id)?.open.delete(order.ordinal);
    },
    settle(line) {
      switch (line.kind) {
        case 'computed':
          return computes.delete(line.id) ? null : `it answered a compute that nobody asked for`;
        case 'turned':
          return turns.delete(line.id) ? null : `it answered a turn that nobody asked for`;
        case 'step':
          return takeStep(turns.get(line.id), line);
        case 'worked':
          return turns.get(line.id)?.working.delete(line.ordinal) === true
            ? null
            : `it reported work of no step that is under way`;
        case 'undelivered':
          return takeUndelivered(allowances, line.name);
        case 'loaded':
          return names.includes(line.name) ? null : 'it loaded a file that is not its own';
        case 'logged':
          return names.includes(line.name) ? null : 'it logged with a name that is not its own';
        default:
          return null;
      }
    },
    isInTurn: (threadId) => [...turns.values()].some((turn) => turn.threadId === threadId),
    isIdle: () =>
      computes.size === 0 &&
      [...turns.values()].every(({ open, working }) => open.size > 0 && working.size === 0),
  };
}

function takeStep(
  turn: OpenTurn | undefined,
  { ordinal, request }: Extract<GuestLine, { kind: 'step' }>,
): string | null {
  if (turn === undefined) return 'it asked for a step of no turn';
  if (turn.asked.has(ordinal)) return `it asked for the step ${ordinal} of a turn twice`;
  if (turn.asked.size >= MAX_STEPS) return `it asked for more than ${MAX_STEPS} steps in one turn`;
  turn.asked.add(ordinal);
  turn.open.add(ordinal);
  if (request.kind === 'value') turn.working.add(ordinal);
  return null;
}

function takeUndelivered(allowances: Map<string, number>, name: string): string | null {
  const allowance = allowances.get(name);
  if (allowance === undefined) return 'it emitted with a name that is not its own';
  if (allowance === 0) return `${name} reported more signals that were not delivered than it can have`;
  allowances.set(name, allowance - 1);
  return null;
}
