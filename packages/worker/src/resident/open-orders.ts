/** The orders that wait for their one answer, and how much the guest may say beside: as much as its own code would. */
import {
  MAX_UNDELIVERED,
  MAX_UNDELIVERED_BYTES,
  type GuestLine,
  type ResidentOrder,
} from '@caisson/protocol';

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

/** What one line has more than its signals and their origin is not counted; an emission has at most a line. */
const BYTES_OF_A_COMPUTE = LOADS_OF_A_COMPUTE * (MAX_UNDELIVERED_BYTES + 1024 ** 2);

/** What a sense may still say of signals that were not delivered. */
interface Allowance {
  lines: number;
  bytes: number;
}

/** `names`: the modules that it serves, which alone log and emit. */
export function createOpenOrders(names: readonly string[]): OpenOrders {
  const computes = new Set<string>();
  const turns = new Map<string, OpenTurn>();
  const allowances = new Map(names.map((name) => [name, createAllowance()]));
  /** Files that were not loaded yet when the guest was ready: each is reported once. */
  const loading = new Set<string>();
  return {
    add(order) {
      if (order.kind === 'compute') {
        computes.add(order.id);
        allowances.set(order.name, createAllowance());
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
          return takeUndelivered(allowances.get(line.name), line);
        case 'loaded':
          return loading.delete(line.name)
            ? null
            : 'it loaded a file that is not its own, or was loaded before';
        case 'ready':
          for (const { name, isLoading } of line.modules)
            if (isLoading === true && names.includes(name)) loading.add(name);
          return null;
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

function createAllowance(): Allowance {
  return { lines: LOADS_OF_A_COMPUTE * MAX_UNDELIVERED, bytes: BYTES_OF_A_COMPUTE };
}

function takeUndelivered(
  allowance: Allowance | undefined,
  { name, origin, signals }: Extract<GuestLine, { kind: 'undelivered' }>,
): string | null {
  if (allowance === undefined) return 'it emitted with a name that is not its own';
  allowance.lines -= 1;
  allowance.bytes -= Buffer.byteLength(origin) + Buffer.byteLength(JSON.stringify(signals));
  return Math.min(allowance.lines, allowance.bytes) < 0
    ? `${name} reported more signals that were not delivered than it can have`
    : null;
}
