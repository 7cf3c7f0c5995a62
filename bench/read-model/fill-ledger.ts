// A ledger of many short runs, quickly: the events are those of real runs, and only the runs did not happen.
import { hash, randomBytes } from 'node:crypto';
import { nextLink } from '../../packages/engine/src/evidence/index.ts';
import { openLedger, type NewEvent } from '../../packages/engine/src/ledger/index.ts';
import { SAMPLE_GRANT } from '../../packages/protocol/src/fixtures/sample-events.ts';
import { createId } from '../../packages/protocol/src/index.ts';

const RUNS_IN_ONE_APPEND = 500;
/** One run in so many had an approval and a question. */
const ASKS_EVERY = 50;
const BEGUN_MS = Date.UTC(2026, 0, 1);
const BETWEEN_MS = 20_000;

/** The digest of a seal, by its place among those that are added. */
type SealOf = (place: number) => string;

/** Adds so many ended and sealed runs; resolves with their ids, the oldest first. */
export async function fillLedger(
  file: string,
  runs: number,
  seals: string | SealOf = 'ab'.repeat(32),
): Promise<string[]> {
  const sealOf: SealOf = typeof seals === 'string' ? () => seals : seals;
  const ledger = openLedger(file);
  const ids: string[] = [];
  const first = nextLink(ledger);
  try {
    while (ids.length < runs) {
      const events: NewEvent[] = [];
      for (let added = 0; added < RUNS_IN_ONE_APPEND && ids.length < runs; added += 1) {
        const atMs = BEGUN_MS + ids.length * BETWEEN_MS;
        const runId = createId('run', atMs, randomBytes(10));
        events.push(...eventsOfRun(runId, ids.length, { atMs, seal: sealAfter(first, sealOf, ids) }));
        ids.push(runId);
      }
      await ledger.append(events);
    }
  } finally {
    await ledger.close();
  }
  return ids;
}

/** Each follows the one before it, as in a chain of real seals. */
function sealAfter(
  first: ReturnType<typeof nextLink>,
  sealOf: SealOf,
  ids: readonly string[],
): Record<string, unknown> {
  const previousRun = ids.at(-1);
  const place = previousRun === undefined ? {} : { previous: sealOf(ids.length - 1), previousRun };
  const blob = sealOf(ids.length);
  const chain = { ...first, number: first.number + ids.length, ...place };
  return { envelopeRef: blob, manifestRef: blob, keyId: 'k', chain };
}

function eventsOfRun(
  runId: string,
  number: number,
  { atMs, seal }: { readonly atMs: number; readonly seal: Record<string, unknown> },
): NewEvent[] {
  const event = (type: string, data: Record<string, unknown>, attempt = 1): NewEvent => {
    return { runId, attempt, type, version: 1, at: new Date(atMs).toISOString(), trace: '', data };
  };
  return [
    event('dispatch.accepted', acceptedData(number), 0),
    event('attempt.launched', { handle: { pid: 1, digests: digestsOf(runId) }, nonce: 'n', workspace: {} }),
    event('dispatch.started', { grant: SAMPLE_GRANT }),
    ...(number % ASKS_EVERY === 0 ? askingEvents(event, runId) : []),
    event('dispatch.finished', { durationMs: 12, costUsd: 0.01, usage: USAGE }),
    event('evidence.sealed', seal, 0),
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

function askingEvents(event: (type: string, data: Record<string, unknown>) => NewEvent, runId: string) {
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
