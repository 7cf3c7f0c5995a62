import { shareTurn } from '@caisson/ground';
import type { EventType } from '@caisson/protocol';
import { admitEvents } from './admit-event.ts';
import type {
  AppendOptions,
  Ledger,
  LedgerChange,
  ReadQuery,
  RunFilter,
  RunRow,
  StoredEvent,
  StoredOf,
} from './contract.ts';
import type { Commits, Recorded } from './commits.ts';
import type { EndingSigner } from './ending-marks.ts';
import { LedgerClosedError } from './errors.ts';
import { toStoredEvent, type EventRecord } from './event-record.ts';
import { findById, findLast } from './find-last.ts';
import { GroupCommit } from './group-commit.ts';
import { createKeyValues } from './key-values.ts';
import { createLeases } from './leases.ts';
import type { RunState } from './ledger-view.ts';
import { createEventIds } from './event-ids.ts';
import { pageRunInTurns, readRecords, readRunInTurns, walkPages, type RunCursor } from './read-chain.ts';
import { rebuild } from './rebuild.ts';
import { searchRuns } from './search-runs.ts';
import type { BeforeMigration, Storage } from './storage.ts';
import { createListeners } from './change-listeners.ts';
import { verifyAll, verifyRun } from './verify.ts';
import { createFreeWrites } from './when-free.ts';

/** A walk through the runs reads so many at once. */
const RUNS_PAGE = 256;

export interface LedgerOptions {
  readonly createEventId?: () => string;
  /** How long an append, or `whenFree`, waits while other processes hold the lock. Default 30 s. */
  readonly patienceMs?: number | undefined;
  /** Called before an older file is brought to the form of this version; a throw leaves it as it is. */
  readonly beforeMigration?: BeforeMigration | undefined;
  /** Signs the mark that is kept with each ending, in the same transaction. */
  readonly endings?: EndingSigner | undefined;
}

/** The rules of every ledger; `storage` decides where its rows are. */
export function createLedger(
  storage: Storage,
  options: LedgerOptions = {},
  openCommits = (onCommit: () => void): Commits => new GroupCommit(storage, onCommit, options),
): Ledger {
  const createEventId = options.createEventId ?? createEventIds();
  const listeners = createListeners((onChange) => storage.watchOthers(onChange));
  const isChanged = () => listeners.notify({ origin: 'own' });
  const commits = openCommits(isChanged);
  let closing: Promise<void> | null = null;
  const demandOpen = () => {
    if (closing !== null && !freeWrites.isWriting()) throw new LedgerClosedError(storage.file);
  };
  const freeWrites = createFreeWrites(storage, demandOpen, options.patienceMs);
  const { reading, writing, writingWorking, alone } = createTransactions(storage, demandOpen, isChanged);

  return {
    file: storage.file,
    isThere: () => storage.isThere(),
    async append(events, { onAdded, ...appendOptions } = {}) {
      demandOpen();
      if (events.length === 0) return [];
      const admitted = admitEvents(events, createEventId);
      return announceAdded(await commits.submit(admitted, appendOptions), onAdded);
    },
    read: <T extends EventType>(query: ReadQuery = {}) => {
      const events = reading(() => readRecords(storage, query)).map(toStoredEvent);
      const isReadable = (event: StoredEvent) => query.types === undefined || event.type !== 'unknown';
      return events.filter(isReadable) as StoredOf<T>[];
    },
    walk: <T extends EventType>(query: WalkQuery = {}) => walkStored<T>(storage, reading, query),
    readRun: (runId, after = 0) => readStored(storage, reading, { runId, after }),
    async *pageRun(runId, after, size) {
      for await (const page of pageRunInTurns(storage, reading, { runId, after }, size))
        yield page.map(toStoredEvent);
    },
    ...readsOne(storage, reading),
    ...readsRows(storage, reading),
    lastOffset: () => reading(() => storage.total().count),
    rebuildProjections: () => writing(() => rebuild(storage)),
    verifyRun: (runId) => reading(() => verifyRun(storage, runId)),
    verifyAll: (onProgress) => reading(() => verifyAll(storage, onProgress)),
    leases: createLeases(storage.working, reading, writingWorking),
    kv: createKeyValues(storage.working, reading, writing),
    alone,
    whenFree: freeWrites.whenFree,
    watch(onChange: (change: LedgerChange) => void) {
      demandOpen();
      return listeners.add(onChange);
    },
    close() {
      closing ??= Promise.all([commits.drain(), freeWrites.drain()]).then(() => {
        listeners.clear();
        storage.close();
      });
      return closing;
    },
  };
}

type WalkQuery = Pick<ReadQuery, 'after' | 'types'>;

function* walkStored<T extends EventType>(
  storage: Storage,
  reading: <R>(work: () => R) => R,
  query: WalkQuery,
): Generator<StoredOf<T>> {
  for (const record of walkPages(storage, reading, query)) {
    const event = toStoredEvent(record);
    if (query.types === undefined || event.type !== 'unknown') yield event as StoredOf<T>;
  }
}

/** Parsing is a part of the work, so it shares the turns, too. */
async function readStored(
  storage: Storage,
  reading: <T>(work: () => T) => T,
  from: RunCursor,
): Promise<StoredEvent[]> {
  const stored: StoredEvent[] = [];
  for (const record of await readRunInTurns(storage, reading, from)) {
    await shareTurn();
    stored.push(toStoredEvent(record));
  }
  return stored;
}

function readsOne(storage: Storage, reading: <T>(work: () => T) => T): Pick<Ledger, 'find' | 'findLast'> {
  const toStored = (record: EventRecord | null) => (record === null ? null : toStoredEvent(record));
  return {
    find: (id) => toStored(reading(() => findById(storage, id))),
    findLast: (type) => toStored(reading(() => findLast(storage, type))),
  };
}

type Rows =
  | 'runs'
  | 'searchRuns'
  | 'walkRuns'
  | 'run'
  | 'runIds'
  | 'attempts'
  | 'questions'
  | 'question'
  | 'approvals'
  | 'approval'
  | 'spend'
  | 'threads'
  | 'thread';

/** The projections. */
function readsRows(storage: Storage, reading: <T>(work: () => T) => T): Pick<Ledger, Rows> {
  const toRunRow = (run: RunState): RunRow => ({ ...run, lastSeq: storage.stream(run.runId).count });
  const runs = (filter: RunFilter = {}): RunRow[] => reading(() => storage.runs(filter).map(toRunRow));
  return {
    runs,
    searchRuns: (filter = {}) =>
      searchRuns(filter, { runs, runAt: (asked, index) => reading(() => storage.runAt(asked, index)) }),
    *walkRuns(filter = {}) {
      for (let page = runs({ ...filter, limit: RUNS_PAGE }); ;) {
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < RUNS_PAGE) return;
        page = runs({ ...filter, limit: RUNS_PAGE, after: last.runId });
      }
    },
    run: (runId) =>
      reading(() => {
        const run = storage.run(runId);
        return run === null ? null : toRunRow(run);
      }),
    runIds: (part, limit) => reading(() => storage.runIds(part, limit)),
    attempts: (runId) => reading(() => storage.attempts(runId)),
    questions: (filter = {}) => reading(() => storage.questions(filter)),
    question: (questionId) => reading(() => storage.question(questionId)),
    approvals: (filter = {}) => reading(() => storage.approvals(filter)),
    approval: (approvalId) => reading(() => storage.approval(approvalId)),
    spend: (filter = {}) => reading(() => storage.spends(filter)),
    threads: (filter = {}) => reading(() => storage.threads(filter)),
    thread: (threadId) => reading(() => storage.thread(threadId)),
  };
}

function announceAdded({ records, countBefore }: Recorded, onAdded: AppendOptions['onAdded']): StoredEvent[] {
  const stored = records.map(toStoredEvent);
  for (const event of listAdded(stored, countBefore)) onAdded?.(event);
  return stored;
}

/** Without those that were there before, or are twice in the call. */
function listAdded(stored: readonly StoredEvent[], countBefore: number): StoredEvent[] {
  let last = countBefore;
  return stored.filter(({ offset }) => {
    const isAdded = offset > last;
    last = Math.max(last, offset);
    return isAdded;
  });
}

/** How the rows are reached: each piece of work is one transaction, unless it is part of a larger one. */
function createTransactions(storage: Storage, demandOpen: () => void, isChanged: () => void) {
  let isAlone = false;
  const reading = <T>(work: () => T): T => {
    demandOpen();
    return isAlone ? work() : storage.read(work);
  };
  const announce = <T>(result: T): T => {
    isChanged();
    return result;
  };
  const writing = <T>(work: () => T): T => {
    demandOpen();
    return isAlone ? work() : announce(storage.write(work));
  };
  const writingWorking = <T>(work: () => T): T => {
    demandOpen();
    return announce(storage.writeWorking(work));
  };
  const alone = <T>(work: () => T): T =>
    writing(() => {
      isAlone = true;
      try {
        return work();
      } finally {
        isAlone = false;
      }
    });
  return { reading, writing, writingWorking, alone };
}
