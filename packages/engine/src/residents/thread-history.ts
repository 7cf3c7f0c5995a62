/** What the ledger knows of a thread beyond its row. */
import type {
  DataOf,
  RecordedStep,
  StepOutcome,
  ThreadMessage,
  ThreadRow,
  ThreadView,
} from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';

const TYPES = ['thread.accepted', 'thread.message', 'thread.step-started', 'thread.step-ended'] as const;

/** A step of the present round. */
export type LoadedStep = DataOf<'thread.step-started'> & Pick<RecordedStep, 'outcome'>;

export interface ThreadHistory {
  readonly payload: unknown;
  readonly causes: DataOf<'thread.accepted'>['causes'];
  /** Its own, without those of the thread that it continues. */
  readonly messages: readonly ThreadMessage[];
  readonly steps: readonly LoadedStep[];
  readonly runs: readonly string[];
}

export function readHistory(ledger: Ledger, { threadId, rounds }: ThreadRow): ThreadHistory {
  const events = readEvents(ledger, threadId);
  const started = events.flatMap((event) => (event.type === 'thread.step-started' ? [event.data] : []));
  const outcomes = readOutcomes(events, rounds);
  const accepted = events.find((event) => event.type === 'thread.accepted')?.data;
  return {
    payload: accepted?.payload ?? null,
    causes: accepted?.causes ?? [],
    messages: events.flatMap((event) => (event.type === 'thread.message' ? [event.data] : [])),
    steps: started
      .filter(({ round }) => round === rounds)
      .map((step) => {
        const outcome = outcomes.get(step.ordinal);
        return outcome === undefined ? step : { ...step, outcome };
      }),
    runs: started.flatMap(({ kind, runIds }) => (kind === 'dispatch' ? (runIds ?? []) : [])),
  };
}

const readEvents = (ledger: Ledger, threadId: string) => ledger.read({ runId: threadId, types: TYPES });

/** Of one round, by ordinal. The order of the events says what the role had asked for when each step ended. */
function readOutcomes(events: ReturnType<typeof readEvents>, round: number): Map<number, StepOutcome> {
  const outcomes = new Map<number, StepOutcome>();
  let asked = 0;
  for (const event of events)
    if (event.type === 'thread.step-started' && event.data.round === round)
      asked = Math.max(asked, event.data.ordinal + 1);
    else if (event.type === 'thread.step-ended' && event.data.round === round) {
      const { ordinal, ok, value } = event.data;
      outcomes.set(ordinal, { ok, value, place: outcomes.size, asked });
    }
  return outcomes;
}

/** All messages that the role sees, numbered in their order: those of the threads that it continues come first. */
export function readMessages(ledger: Ledger, row: ThreadRow): ThreadMessage[] {
  const chain: ThreadMessage[][] = [];
  const seen = new Set<string>();
  for (let next: ThreadRow | null = row; next !== null && !seen.has(next.threadId);) {
    seen.add(next.threadId);
    chain.unshift([...readHistory(ledger, next).messages]);
    next = next.continues === undefined ? null : ledger.thread(next.continues);
  }
  return chain.flat().map((message, round) => ({ ...message, round }));
}

export function showThread(ledger: Ledger, threadId: string): ThreadView | null {
  const row = ledger.thread(threadId);
  if (row === null) return null;
  const { payload, causes, messages, runs } = readHistory(ledger, row);
  return { ...row, payload, causes: [...causes], messages: [...messages], runs: [...runs] };
}
