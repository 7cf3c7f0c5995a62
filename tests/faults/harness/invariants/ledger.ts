/** What the ledger must still be: whole, with one ending for every run, and with everything that was ever read from it. */
import { isTerminal, type WorkerLineKind } from '@caisson/protocol';
import type { Stage } from '../contract.ts';
import { readReported } from '../reported.ts';
import type { Invariant } from './contract.ts';

export const oneEnding: Invariant = {
  name: 'one-ending',
  check: ({ stage }) =>
    stage
      .ledger()
      .runs()
      .flatMap(({ runId }) => {
        const types = typesOf(stage, runId);
        const count = types.filter((type) => isTerminal(type)).length;
        return count === 1 ? [] : [`${runId} has ${count} endings: ${types.join(' ')}`];
      }),
};

export const wholeChain: Invariant = {
  name: 'whole-chain',
  check({ stage }) {
    const report = stage.ledger().verifyAll();
    return report.ok ? [] : report.problems;
  },
};

/** An event that any reader has seen stays. */
export const nothingTakenBack: Invariant = {
  name: 'nothing-taken-back',
  check({ stage }) {
    const { head } = stage.seen;
    if (head === null) return [];
    const [found] = stage.ledger().read({ after: head.offset - 1, limit: 1 });
    return found?.hash === head.hash ? [] : [`event ${head.offset} was read during the run and is gone`];
  },
};

/** Each attempt is launched once, and a run is accepted once. */
export const nothingTwice: Invariant = {
  name: 'nothing-twice',
  check: ({ stage }) =>
    stage
      .ledger()
      .runs()
      .flatMap(({ runId }) => {
        const launched = stage.ledger().read({ runId, types: ['attempt.launched'] });
        const attempts = new Set(launched.map((event) => event.attempt));
        return attempts.size === launched.length ? [] : [`${runId} launched an attempt twice`];
      }),
};

/** What the result and the ending say, and what is gone when it was read. Every other line is an event. */
const NOT_RECORDED: readonly WorkerLineKind[] = [
  ...([
    'worker.boot',
    'worker.ready',
    'sandbox.started',
    'heartbeat',
    'progress',
    'request',
    'model.usage',
    'verify.ran',
  ] as const),
  ...(['dispatch.finished', 'dispatch.needs_input', 'dispatch.failed', 'dispatch.cancelled'] as const),
];

/** What a worker wrote down is in the ledger, or its loss is: line by line, also where the host died. */
export const noEventLost: Invariant = {
  name: 'no-event-lost',
  check: ({ stage }) =>
    readReported(stage).flatMap(({ runId, attempt, lines }) => {
      const events = stage.ledger().read({ runId });
      if (events.some(({ type }) => type === 'events.lost')) return [];
      const ids = new Set(events.map(({ id }) => id));
      return lines
        .filter(({ kind }) => !NOT_RECORDED.includes(kind))
        .filter(({ seq }) => !ids.has(`line:${runId}.${attempt}.${seq}`))
        .map(({ kind, seq }) => `${runId} lacks ${kind}, line ${seq} of its worker`);
    }),
};

function typesOf(stage: Stage, runId: string): string[] {
  return stage
    .ledger()
    .read({ runId })
    .map((event) => event.type);
}
