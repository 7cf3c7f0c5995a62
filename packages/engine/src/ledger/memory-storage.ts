import type { AttemptRow, HoldRow, QuestionRow, SlotRow, SpendRow } from './contract.ts';
import type { Draft } from './draft.ts';
import { EMPTY_STREAM } from './event-record.ts';
import type { EventRecord, StreamHead } from './event-record.ts';
import { NEW_STREAM } from './ledger-view.ts';
import type { RunState, StreamState } from './ledger-view.ts';
import { queuedIn } from './project.ts';
import type { Storage, WorkingRows } from './storage.ts';

/** Keeps everything in this process. A full implementation, for tests and for ledgers nobody needs afterwards. */
export function createMemoryStorage(): Storage {
  const events: EventRecord[] = [];
  const byId = new Map<string, EventRecord>();
  const streams = new Map<string | null, StreamState>();
  const runs = new Map<string, RunState>();
  const attempts = new Map<string, AttemptRow[]>();
  const questions = new Map<string, QuestionRow>();
  const spends = new Map<string, SpendRow>();
  let total: StreamHead = EMPTY_STREAM;

  const apply = (draft: Draft) => {
    for (const record of draft.events) {
      events.push(record);
      byId.set(record.id, record);
    }
    total = draft.total();
    for (const [runId, stream] of draft.changedStreams()) streams.set(runId, stream);
    draft.changedRuns().forEach((row) => runs.set(row.runId, copy(row)));
    draft
      .changedAttempts()
      .forEach((row) => attempts.set(row.runId, replaceAttempt(attempts.get(row.runId) ?? [], copy(row))));
    draft.changedQuestions().forEach((row) => questions.set(row.questionId, copy(row)));
    draft.changedSpends().forEach((row) => spends.set(row.runId, copy(row)));
  };

  return {
    file: ':memory:',
    isThere: () => true,
    read: (work) => work(),
    // Nothing can fail between the plan and the last `set`, so there is nothing to roll back.
    write: (work) => work(),
    writeWorking: (work) => work(),
    apply,
    total: () => total,
    stream: (runId) => streams.get(runId) ?? NEW_STREAM,
    eventById: (id) => byId.get(id) ?? null,
    eventAt: (offset) => events[offset - 1] ?? null,
    eventsFrom: (afterOffset, limit) => events.slice(afterOffset, afterOffset + limit),
    streamIds: () => [...streams.keys()],
    seal: (runId) => {
      const stream = streams.get(runId);
      return stream?.isSealed === true ? stream : null;
    },
    damage: () => [],
    run: (runId) => copy(runs.get(runId) ?? null),
    runByIdempotencyKey: (key) => [...runs.values()].find((run) => run.idempotencyKey === key) ?? null,
    attempt: (runId, attempt) => copy(attempts.get(runId)?.find((row) => row.attempt === attempt) ?? null),
    question: (questionId) => copy(questions.get(questionId) ?? null),
    spend: (runId) => copy(spends.get(runId) ?? null),
    runs: (filter) => {
      const statuses = filter.status === undefined ? null : new Set([filter.status].flat());
      const found = [...runs.values()]
        .filter((run) => statuses?.has(run.status) ?? true)
        .filter((run) => filter.session === undefined || run.session === filter.session)
        .filter((run) => filter.idempotencyKey === undefined || run.idempotencyKey === filter.idempotencyKey)
        .sort((a, b) => a.acceptedOffset - b.acceptedOffset);
      return copy((filter.newestFirst === true ? found.reverse() : found).slice(0, filter.limit));
    },
    attempts: (runId) => copy([...(attempts.get(runId) ?? [])].sort((a, b) => a.attempt - b.attempt)),
    questions: (filter) =>
      copy(
        [...questions.values()]
          .filter((row) => filter.runId === undefined || row.runId === filter.runId)
          .filter((row) => filter.status === undefined || row.status === filter.status)
          .sort((a, b) => a.askedOffset - b.askedOffset),
      ),
    spends: (filter) =>
      copy(
        [...spends.values()]
          .filter((row) => filter.session === undefined || row.session === filter.session)
          .filter((row) => filter.day === undefined || row.day === filter.day)
          .sort((a, b) => (a.runId < b.runId ? -1 : 1)),
      ),
    clearProjections: () => [runs, attempts, questions, spends].forEach((table) => table.clear()),
    working: createMemoryRows(runs),
    watchOthers: () => () => undefined,
    close: () => undefined,
  };
}

function createMemoryRows(runs: ReadonlyMap<string, RunState>): WorkingRows {
  const slots = new Map<string, SlotRow>();
  const holds = new Map<string, HoldRow>();
  const spaces = new Map<string, Map<string, string>>();
  const queue = (pool: string) =>
    [...runs.values()]
      .filter((run) => queuedIn(run) === pool && !slots.has(run.runId))
      .sort((a, b) => a.priority - b.priority || a.acceptedOffset - b.acceptedOffset)
      .map(({ runId, host }) => ({ runId, pool, hostId: host }));
  return {
    slot: (runId) => slots.get(runId) ?? null,
    slots: (pool) => [...slots.values()].filter((row) => pool === undefined || row.pool === pool),
    putSlot: (row) => slots.set(row.runId, { ...row }),
    deleteSlot: (runId) => slots.delete(runId),
    queue,
    queueHead: (pool) => queue(pool)[0]?.runId ?? null,
    queueCount: (pool) => queue(pool).length,
    hold: (name) => holds.get(name) ?? null,
    holds: () => [...holds.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    putHold: (row) => holds.set(row.name, { ...row }),
    deleteHold: (name) => holds.delete(name),
    rowsOfHost: (hostId) => ({
      slots: [...slots.values()].filter((row) => row.hostId === hostId).map((row) => row.runId),
      holds: [...holds.values()].filter((row) => row.hostId === hostId).map((row) => row.name),
    }),
    hostIds: () => [...new Set([...slots.values(), ...holds.values()].map((row) => row.hostId))].sort(),
    value: (space, key) => spaces.get(space)?.get(key) ?? null,
    values: (space) =>
      [...(spaces.get(space) ?? [])]
        .map(([key, text]) => ({ key, text }))
        .sort((a, b) => (a.key < b.key ? -1 : 1)),
    putValue: (space, key, text) => {
      spaces.set(space, (spaces.get(space) ?? new Map<string, string>()).set(key, text));
    },
    deleteValue: (space, key) => spaces.get(space)?.delete(key) ?? false,
  };
}

function replaceAttempt(rows: readonly AttemptRow[], row: AttemptRow): AttemptRow[] {
  return [...rows.filter((other) => other.attempt !== row.attempt), row];
}

/** Rows go in and out by value, as they do with a file. */
function copy<T>(value: T): T {
  return structuredClone(value);
}
