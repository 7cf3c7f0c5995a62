/** The events of one run for one reader: in order, limited, with a gap when the reader is too slow. */
import { toEnvelope, type EventEnvelope } from '@caisson/protocol';
import type { PublishedEvent } from '../ledger/index.ts';

const MAX_WAITING = 20_000;

export interface RunStream {
  push(event: PublishedEvent): void;
  end(): void;
  read(): AsyncIterable<EventEnvelope>;
}

/** Keeps every event until the first reader comes, so that nothing of a run is missed. */
export function startRunStream(): RunStream {
  let waiting: EventEnvelope[] = [];
  let dropped = 0;
  let isEnded = false;
  let wake = (): void => undefined;

  async function* read(): AsyncGenerator<EventEnvelope> {
    for (;;) {
      const batch = waiting;
      waiting = [];
      if (dropped > 0) {
        yield gap(batch[0], dropped);
        dropped = 0;
      }
      yield* batch;
      if (waiting.length > 0) continue;
      if (isEnded) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return {
    push(event) {
      if (waiting.length >= MAX_WAITING) {
        const live = waiting.findIndex((held) => held.seq === 0);
        waiting.splice(Math.max(0, live), 1);
        dropped += 1;
      }
      waiting.push(toEnvelope(event));
      wake();
    },
    end() {
      isEnded = true;
      wake();
    },
    read,
  };
}

function gap(next: EventEnvelope | undefined, count: number): EventEnvelope {
  return {
    type: 'gap',
    version: 1,
    seq: 0,
    offset: 0,
    runId: next?.runId ?? null,
    attempt: 0,
    at: next?.at ?? new Date(0).toISOString(),
    trace: '',
    count,
  };
}
