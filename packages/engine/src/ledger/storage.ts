import type { ThreadRow } from '@caisson/protocol';
import type {
  ApprovalFilter,
  ApprovalRow,
  AttemptRow,
  HoldRow,
  IdPart,
  QuestionFilter,
  QuestionRow,
  RunFilter,
  SlotRow,
  SpendFilter,
  SpendRow,
  ThreadFilter,
} from './contract.ts';
import type { Draft } from './draft.ts';
import type { EventRecord, StreamHead } from './event-record.ts';
import type { LedgerView, RunState } from './ledger-view.ts';
import type { WaitingRow } from './turn.ts';

/** Called before an older ledger is changed, with its small values; a throw leaves it as it is. */
export type BeforeMigration = (read: (space: string, key: string) => unknown) => void;

/**
 * Where a ledger stores its rows. It stores and finds; it decides nothing. Implementers must not swallow a failure, and
 * must not let a write be seen before `write` has made it durable.
 */
export interface Storage extends LedgerView {
  readonly file: string;
  /** Whether `file` still names the open file. */
  isThere(): boolean;
  /** Runs `work` on one fixed snapshot. */
  read<T>(work: () => T): T;
  /** Runs `work` alone among all writers and makes it durable; a throw changes nothing. */
  write<T>(work: () => T): T;
  /**
   * The same for working rows, which are meaningless without their processes: all processes see the change at once, and
   * a power cut, which ends those processes too, may undo it.
   */
  writeWorking<T>(work: () => T): T;
  /** What `work` writes gives up within milliseconds (LedgerBusyError) where another process has the lock. */
  briefly<T>(work: () => T): T;
  apply(draft: Draft): void;

  eventAt(offset: number): EventRecord | null;
  eventsFrom(afterOffset: number, limit: number): EventRecord[];
  streamIds(): Iterable<string | null>;
  /** Of those, how many have a recorded head or end. */
  countStreams(): number;
  /** The length of the run at its end, once it has ended. */
  end(runId: string | null): StreamHead | null;
  /** Damage that the medium itself can find. */
  damage(): string[];
  /** Derived rows whose search columns differ from their content. */
  misfiled(): string[];
  countRows(table: RowTable): number;

  runs(filter: RunFilter): RunState[];
  /** The run at this place of the filter's order, from its cursor on, whatever its other conditions are. */
  runAt(filter: RunFilter, index: number): string | null;
  runIds(part: IdPart, limit: number): string[];
  attempts(runId: string): AttemptRow[];
  questions(filter: QuestionFilter): QuestionRow[];
  approvals(filter: ApprovalFilter): ApprovalRow[];
  spends(filter: SpendFilter): SpendRow[];
  threads(filter: ThreadFilter): ThreadRow[];
  clearProjections(): void;

  readonly working: WorkingRows;
  /** Reports commits of other processes until stopped. */
  watchOthers(onChange: () => void): () => void;
  close(): void;
}

/** The projections. */
export const ROW_TABLES = ['runs', 'attempts', 'questions', 'approvals', 'spend', 'threads'] as const;
export type RowTable = (typeof ROW_TABLES)[number];

/** Temporary rows; not part of the events. */
export interface WorkingRows {
  slot(runId: string): SlotRow | null;
  slots(pool?: string): SlotRow[];
  putSlot(row: SlotRow): void;
  deleteSlot(runId: string): boolean;
  /** The runs that wait for a slot of the pool, in no order: a projection, without those that have one. */
  queue(pool: string): WaitingRow[];
  /** Of each priority the one that was accepted first. */
  queueFronts(pool: string): WaitingRow[];
  queueCount(pool: string): number;
  /** The waiting run itself; null if it has a slot or has ended. */
  waiting(pool: string, runId: string): WaitingRow | null;
  /** How many wait that are at least as urgent and were accepted before. */
  countBefore(pool: string, row: WaitingRow): number;
  /** Those whose place depends on how long they have waited: less urgent and accepted before, or the other way round. */
  queueBeside(pool: string, row: WaitingRow): WaitingRow[];
  hold(name: string): HoldRow | null;
  holds(): HoldRow[];
  putHold(row: HoldRow): void;
  deleteHold(name: string): boolean;
  rowsOfHost(hostId: string): { slots: string[]; holds: string[] };
  hostIds(): string[];
  value(space: string, key: string): string | null;
  values(space: string): { key: string; text: string }[];
  putValue(space: string, key: string, text: string): void;
  deleteValue(space: string, key: string): boolean;
}
