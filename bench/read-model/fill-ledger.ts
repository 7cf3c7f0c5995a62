// A ledger of many short runs, quickly: the events are those of real runs, and only the runs did not happen.
import { hash, randomBytes } from 'node:crypto';
import { nextLink } from '../../packages/engine/src/evidence/index.ts';
import { openLedger, type NewEvent } from '../../packages/engine/src/ledger/index.ts';
import { SAMPLE_GRANT } from '../../packages/protocol/src/fixtures/sample-events.ts';
import { createId } from '../../packages/protocol/src/index.ts';
import { putRunBlobs, type FilledStore, type RunBlobs } from './fill-store.ts';
import type { SignRun } from './sign-run.ts';

const RUNS_IN_ONE_APPEND = 500;
/** One run in so many had an approval and a question. */
const ASKS_EVERY = 50;
const SIGNS_EVERY = 20;
const BEGUN_MS = Date.UTC(2026, 0, 1);
const BETWEEN_MS = 20_000;

/** The digest of a seal, by its place among those that are added. */
type SealOf = (place: number) => string;

export interface FillOptions {
  /** Gets the blobs that the runs name; without it they name none. */
  readonly store?: FilledStore;
  /** Signs one run in so many; the seals of the others are only recorded. */
  readonly sign?: SignRun;
}

/** Adds so many ended and sealed runs; resolves with their ids, the oldest first. */
export async function fillLedger(
  file: string,
  runs: number,
  seals: string | SealOf = 'ab'.repeat(32),
  { store, sign }: FillOptions = {},
): Promise<string[]> {
  const sealOf: SealOf = typeof seals === 'string' ? () => seals : seals;
  const ledger = openLedger(file);
  const ids: string[] = [];
  let link = nextLink(ledger);
  const seal = async (runId: string, place: number, blobs: RunBlobs | null): Promise<NewEvent> => {
    const digest = sealOf(place);
    const isSigned = sign !== undefined && blobs !== null && place % SIGNS_EVERY === 0;
    const ref = isSigned
      ? await sign(ledger.read({ runId }), blobs, link)
      : { envelopeRef: digest, manifestRef: digest, keyId: 'k', chain: link };
    link = { ...link, number: link.number + 1, previous: ref.envelopeRef, previousRun: runId };
    return eventOf(runId, atOf(place))('evidence.sealed', { ...ref }, 0);
  };
  try {
    while (ids.length < runs) {
      const events: NewEvent[] = [];
      const added: (RunBlobs | null)[] = [];
      const first = ids.length;
      while (added.length < RUNS_IN_ONE_APPEND && ids.length < runs) {
        const runId = createId('run', atOf(ids.length), randomBytes(10));
        const blobs = store === undefined ? null : await putRunBlobs(store, runId);
        events.push(...eventsOfRun(runId, ids.length, blobs));
        added.push(blobs);
        ids.push(runId);
      }
      await ledger.append(events);
      const sealed: NewEvent[] = [];
      for (const [at, blobs] of added.entries())
        sealed.push(await seal(ids[first + at] ?? '', first + at, blobs));
      await ledger.append(sealed);
    }
    await store?.commit();
  } finally {
    await ledger.close();
  }
  return ids;
}

const atOf = (place: number): number => BEGUN_MS + place * BETWEEN_MS;

type EventOf = (type: string, data: Record<string, unknown>, attempt?: number) => NewEvent;

function eventOf(runId: string, atMs: number): EventOf {
  return (type, data, attempt = 1) => ({
    ...{ runId, attempt, type, version: 1, at: new Date(atMs).toISOString(), trace: '', data },
  });
}

function eventsOfRun(runId: string, number: number, blobs: RunBlobs | null): NewEvent[] {
  const event = eventOf(runId, atOf(number));
  const requestRef = blobs === null ? {} : { requestRef: blobs.requestRef };
  const made = blobs === null ? {} : { resultRef: blobs.resultRef, patchRef: blobs.patchRef };
  return [
    event('dispatch.accepted', { ...acceptedData(number), ...requestRef }, 0),
    event('attempt.launched', { handle: { pid: 1, digests: digestsOf(runId) }, nonce: 'n', workspace: {} }),
    event('dispatch.started', { grant: SAMPLE_GRANT }),
    ...(number % ASKS_EVERY === 0 ? askingEvents(event, runId) : []),
    event('dispatch.finished', { durationMs: 12, costUsd: 0.01, usage: USAGE, ...made }),
  ];
}

/** As many as the events of a real run name: a collection needs room for them. */
const DIGESTS = [
  ...['nonce', 'prompt', 'request', 'result', 'patch'],
  ...['reply', 'stdout', 'manifest', 'envelope'],
];

function digestsOf(runId: string): string[] {
  return DIGESTS.map((name) => hash('sha256', runId + name));
}

const USAGE = { models: ['m'], inputTokens: 10, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0 };

function acceptedData(number: number): Record<string, unknown> {
  return {
    task: { id: `task_${number}`, description: `count the beans of box ${number}`, priority: 5 },
    host: 'host_gone',
    runtime: number % 3 === 0 ? 'command' : 'codex',
    agent: `agent-${number % 7}`,
    session: `session-${number % 100}`,
    grant: SAMPLE_GRANT,
    resolved: { capabilities: [], env: [], model: { requested: '', served: [] } },
  };
}

function askingEvents(event: EventOf, runId: string) {
  const asked = {
    approvalId: `approval_${runId}`,
    tool: 'bash',
    what: 'rm -r x',
    actionClass: 'destructive',
  };
  const questionId = `question_${runId}`;
  return [
    event('approval.requested', { ...asked, deadlineAt: '2026-01-01T00:00:00.000Z' }),
    event('approval.decided', { approvalId: asked.approvalId, decision: 'allow', by: 'user' }),
    event('question.asked', { questionId, text: 'red or blue?' }),
    event('question.answered', { questionId, answer: 'blue' }),
  ];
}
