/** What the ledger must still be: whole, with one ending for every run, and with everything that was ever read from it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTerminal } from '@caisson/protocol';
import { listFolder } from '../../moments.ts';
import type { Stage } from '../contract.ts';
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

/** An event that anybody has read stays. */
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

const RECORDED = ['runtime.adapter.ran', 'capture.done', 'policy.denied', 'script.ran'];

/**
 * What a worker told a host that lived on is in the ledger, or its loss is. A host that died is another matter: nobody
 * was told that the event is durable.
 */
export const noEventLost: Invariant = {
  name: 'no-event-lost',
  check: ({ stage }) =>
    stage
      .ledger()
      .runs()
      .filter((row) => row.ending === 'dispatch.finished')
      .flatMap(({ runId, attempt }) => {
        const types = typesOf(stage, runId);
        if (types.some((type) => type.includes('lost'))) return [];
        return toldBy(stage, `${runId}.${attempt}`)
          .filter((kind) => RECORDED.includes(kind) && !types.includes(kind))
          .map((kind) => `${runId} lacks ${kind}, which its worker told`);
      }),
};

/** The kinds of a worker's lines, as it wrote them down itself; nothing when that file is gone by now. */
function toldBy({ stateDir }: Stage, attempt: string): string[] {
  const folder = join(stateDir, 'runtime/events');
  const file = listFolder(folder).find((name) => name.startsWith(attempt));
  if (file === undefined || !existsSync(join(folder, file))) return ['runtime.adapter.ran', 'capture.done'];
  return readFileSync(join(folder, file), 'utf8')
    .split('\n')
    .flatMap((line) => /"kind":"([^"]+)"/.exec(line)?.[1] ?? []);
}

function typesOf(stage: Stage, runId: string): string[] {
  return stage
    .ledger()
    .read({ runId })
    .map((event) => event.type);
}
