/** What `caisson top` shows: what was read of the project, and what the person chose. Nothing here reads or prints. */
import type { ListedRun } from '@caisson/engine';
import type { DaemonStatus } from '@caisson/protocol';

export type ResidentsNow = Pick<DaemonStatus, 'residents' | 'threads' | 'schedules'>;

export interface TopData {
  readonly runs: readonly ListedRun[];
  /** Null without a daemon: only it has them. */
  readonly residents: Partial<ResidentsNow> | null;
}

export const SORTS = ['state', 'newest', 'cost', 'tokens', 'cpu', 'memory'] as const;
export type Sort = (typeof SORTS)[number];

/** What a person has to confirm. It names a run and a call, whatever is selected later. */
export type Question =
  | { readonly kind: 'cancel'; readonly runId: string; readonly text: string }
  | {
      readonly kind: 'allow' | 'deny';
      readonly runId: string;
      readonly approvalId: string;
      readonly text: string;
      /** False while `text` is only its first words, and the rest is being read. */
      readonly isWhole: boolean;
    };

export const TAILS = ['events', 'stdout', 'stderr'] as const;
export type TailName = (typeof TAILS)[number];

/** `up`: how many lines above the end it shows. */
export interface RunPage {
  readonly kind: 'run';
  readonly runId: string;
  readonly tail: TailName;
  readonly up: number;
}

export type Page =
  | { readonly kind: 'table' }
  | { readonly kind: 'help' }
  /** `before`: the filter that comes back with escape. */
  | { readonly kind: 'filter'; readonly before: string }
  | RunPage
  | {
      readonly kind: 'confirm';
      readonly question: Question;
      readonly askedMs: number;
      /** Lines above the screen. */
      readonly scroll: number;
      readonly back: { readonly kind: 'table' } | RunPage;
    };

export interface TopState {
  readonly data: TopData;
  readonly selected: string | null;
  readonly sort: Sort;
  readonly isReversed: boolean;
  readonly filter: string;
  readonly showsEnded: boolean;
  readonly page: Page;
  /** What the last order led to, or what is wrong. */
  readonly message: string;
}

export function createTopState(choice: Partial<TopState> = {}): TopState {
  return {
    data: { runs: [], residents: null },
    selected: null,
    sort: 'state',
    isReversed: false,
    filter: '',
    showsEnded: true,
    page: { kind: 'table' },
    message: '',
    ...choice,
  };
}

/** A run that is gone from the list is no longer selected: the one at its place is. */
export function takeData(state: TopState, data: TopData): TopState {
  const place = findPlace(state);
  const next = { ...state, data };
  const rows = listShown(next);
  if (rows.some(({ runId }) => runId === state.selected)) return next;
  return { ...next, selected: rows[Math.min(Math.max(place, 0), rows.length - 1)]?.runId ?? null };
}

/** The whole call, for the page that asks about it; it is read from its beginning. */
export function takeCall(state: TopState, approvalId: string, text: string, nowMs: number): TopState {
  const { page } = state;
  if (page.kind !== 'confirm' || page.question.kind === 'cancel') return state;
  const { question } = page;
  if (question.approvalId !== approvalId) return state;
  return {
    ...state,
    page: { ...page, question: { ...question, text, isWhole: true }, askedMs: nowMs, scroll: 0 },
  };
}

/** The runs of the table, in its order. */
export function listShown({ data, filter, sort, isReversed, showsEnded }: TopState): readonly ListedRun[] {
  const words = filter.toLowerCase();
  const shown = data.runs.filter((run) => (showsEnded || !hasEnded(run)) && textOf(run).includes(words));
  const sorted = shown.toSorted((a, b) => ORDERS[sort](a, b) || byAge(a, b));
  return isReversed ? sorted.toReversed() : sorted;
}

export function findSelected(state: TopState): ListedRun | undefined {
  return state.data.runs.find(({ runId }) => runId === state.selected);
}

/** −1 if nothing is selected. */
export function findPlace(state: TopState): number {
  return listShown(state).findIndex(({ runId }) => runId === state.selected);
}

export function hasEnded({ status, waitsFor }: ListedRun): boolean {
  return status !== 'queued' && status !== 'running' && waitsFor === undefined;
}

function textOf({ runId, description, runtime, agent, session, status, live }: ListedRun): string {
  const parts = [runId, description, runtime, agent, session, status, live?.phase, live?.tool?.name];
  return parts.join('\n').toLowerCase();
}

type Order = (a: ListedRun, b: ListedRun) => number;

const byAge: Order = (a, b) => b.acceptedOffset - a.acceptedOffset;
const most =
  (of: (run: ListedRun) => number | undefined): Order =>
  (a, b) =>
    (of(b) ?? -1) - (of(a) ?? -1);

const ORDERS: Readonly<Record<Sort, Order>> = {
  state: (a, b) => rankOf(a) - rankOf(b) || (a.position ?? 0) - (b.position ?? 0),
  newest: byAge,
  cost: most(({ costUsd, live }) => costUsd ?? live?.costUsd),
  tokens: most(({ live }) => live?.tokens),
  cpu: most(({ live }) => live?.cpuPercent),
  memory: most(({ live }) => live?.memoryBytes),
};

/** What needs a person comes first. */
function rankOf(run: ListedRun): number {
  if (run.waitsFor !== undefined) return 0;
  if (run.status === 'running') return 1;
  return run.status === 'queued' ? 2 : 3;
}
