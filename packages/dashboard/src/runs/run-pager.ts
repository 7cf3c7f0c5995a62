/** Pages of runs, loaded as they are reached, and the loaded ones kept current. */
import type { ListedRun } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { appendPage, insertRuns, mergeHead, updateRuns } from './run-list.ts';
import { toQuery, type RunsFilter } from './runs-filter.ts';

export const PAGE = 100;
/** So many are asked for by their ids at once. */
const MAX_ASKED = 100;
/** A tab may stay open for days, and a list may be scrolled for hours: more are not kept. */
export const MAX_KEPT = 10_000;

export interface PagerState {
  readonly runs: readonly ListedRun[];
  readonly isLoading: boolean;
  /** There is nothing behind the last run. */
  readonly isWhole: boolean;
  /** No more are kept. What follows is reached by a filter, or from the other end. */
  readonly isFull: boolean;
  /** How many have come on top of the first page so far. */
  readonly onTop: number;
  readonly problem: ProblemError | null;
}

const NOTHING: PagerState = {
  ...{ runs: [], isLoading: false, isWhole: false, isFull: false, onTop: 0, problem: null },
};

export class RunPager {
  readonly #client: Client;
  readonly #filter: RunsFilter;
  readonly #listeners = new Set<() => void>();
  #state = NOTHING;
  /** Reads follow each other: an answer never replaces a newer one. */
  #turn: Promise<void> = Promise.resolve();

  constructor(client: Client, filter: RunsFilter) {
    this.#client = client;
    this.#filter = filter;
  }

  get state(): PagerState {
    return this.#state;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  async loadMore(): Promise<void> {
    if (this.#state.isLoading || this.#state.isWhole || this.#state.isFull) return;
    this.#set({ isLoading: true });
    await this.#try(async () => {
      const after = this.#state.runs.at(-1)?.runId;
      const page = await this.#read({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      this.#keep(appendPage(this.#state.runs, page), { isWhole: page.length < PAGE });
    });
    this.#set({ isLoading: false });
  }

  /** Reads the newest again: there are new ones, or events were missed. */
  async refreshHead(): Promise<void> {
    if (this.#filter.order === 'oldest') return await this.#readOn();
    await this.#try(async () => {
      const head = await this.#read({ limit: PAGE });
      const isAll = head.length < PAGE;
      const { runs, isAnew, onTop } = mergeHead(this.#state.runs, head, isAll);
      const isWhole = isAll || (!isAnew && this.#state.isWhole);
      this.#keep(runs, { isWhole, onTop: this.#state.onTop + onTop });
    });
  }

  /** With the oldest first, new ones come behind the last; and so does what could not be read before. */
  async #readOn(): Promise<void> {
    if (!this.#state.isWhole && this.#state.problem === null) return;
    this.#set({ isWhole: false });
    await this.loadMore();
  }

  /** Reads these again, listed or not: one that is not may fit the filter now. */
  async refresh(ids: ReadonlySet<string>): Promise<void> {
    const all = [...ids];
    for (let from = 0; from < all.length; from += MAX_ASKED) {
      const asked = all.slice(from, from + MAX_ASKED);
      await this.#try(async () => {
        const found = await this.#read({ ids: asked.join(','), limit: MAX_ASKED });
        this.#place(updateRuns(this.#state.runs, asked, found), found);
      });
    }
  }

  #place(runs: readonly ListedRun[], found: readonly ListedRun[]): void {
    const { isWhole, onTop } = this.#state;
    const placed = insertRuns(runs, found, this.#filter.order, isWhole);
    const top = Math.max(
      0,
      placed.findIndex(({ runId }) => runId === runs[0]?.runId),
    );
    this.#keep(placed, { onTop: onTop + top });
  }

  #read(page: Record<string, string | number>): Promise<ListedRun[]> {
    return this.#client.get<ListedRun[]>('/v1/runs', { ...toQuery(this.#filter, Date.now()), ...page });
  }

  #keep(runs: readonly ListedRun[], changes: Partial<PagerState>): void {
    const isCut = runs.length > MAX_KEPT;
    const kept = isCut ? runs.slice(0, MAX_KEPT) : runs;
    const isWhole = !isCut && (changes.isWhole ?? this.#state.isWhole);
    this.#set({ ...changes, runs: kept, isWhole, isFull: kept.length === MAX_KEPT && !isWhole });
  }

  #try(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).then(
      () => {
        if (this.#state.problem !== null) this.#set({ problem: null });
      },
      (error: unknown) => this.#set({ problem: asProblem(error) }),
    );
    return this.#turn;
  }

  #set(changes: Partial<PagerState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}
