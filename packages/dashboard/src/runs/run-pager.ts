/** Pages of runs, loaded as they are reached, and the loaded ones kept current. */
import type { ListedRun } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { appendPage, mergeHead, updateRuns } from './run-list.ts';
import { toQuery, type RunsFilter } from './runs-filter.ts';

export const PAGE = 100;
/** More than this is not read again one by one. */
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
    const after = this.#state.runs.at(-1)?.runId;
    await this.#try(async () => {
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
      const before = this.#state.runs.length;
      const { runs, isAnew } = mergeHead(this.#state.runs, head);
      if (isAnew) this.#keep(runs, { isWhole: head.length < PAGE });
      else this.#keep(runs, { onTop: this.#state.onTop + runs.length - before });
    });
  }

  /** With the oldest first, new ones come behind the last. */
  async #readOn(): Promise<void> {
    if (!this.#state.isWhole) return;
    this.#set({ isWhole: false });
    await this.loadMore();
  }

  async refresh(ids: ReadonlySet<string>): Promise<void> {
    const asked = this.#state.runs
      .map(({ runId }) => runId)
      .filter((id) => ids.has(id))
      .slice(0, MAX_ASKED);
    if (asked.length === 0) return;
    await this.#try(async () => {
      const found = await this.#read({ ids: asked.join(','), limit: MAX_ASKED });
      this.#set({ runs: updateRuns(this.#state.runs, asked, found) });
    });
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

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      if (this.#state.problem !== null) this.#set({ problem: null });
    } catch (error) {
      this.#set({ problem: asProblem(error) });
    }
  }

  #set(changes: Partial<PagerState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}
