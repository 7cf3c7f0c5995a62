/**
 * What each key does on each page.
 *
 * PK1  Nothing is cancelled, allowed or denied by one key: a page shows what it is about, and `y` confirms it.
 * PK2  What is typed in the first moment of that page was typed before it was read, and does nothing.
 * PK3  `y` counts only when the last line of a long call has been on the screen. A call is allowed only once all of it has
 *      been read from the record: the list has its first words.
 */
import type { ScreenSize } from '../full-screen.ts';
import { confirmRoom, countConfirmLines } from './confirm-page.ts';
import type { Key } from './parse-keys.ts';
import {
  findPlace,
  findSelected,
  listShown,
  SORTS,
  TAILS,
  type Page,
  type Question,
  type RunPage,
  type TopState,
} from './top-state.ts';

/** What the key asks of the world. */
export type Order =
  | { readonly kind: 'quit' | 'suspend' | 'repaint' }
  | { readonly kind: 'read-call'; readonly approvalId: string }
  | { readonly kind: 'carry-out'; readonly question: Question };

export interface Pressed {
  readonly state: TopState;
  readonly order?: Order;
}

export interface KeyContext {
  readonly nowMs: number;
  readonly size: ScreenSize;
  /** Lines of the run that is open. */
  readonly tailLines: number;
}

const UNREAD_MS = 300;
const EVERYWHERE: Readonly<Record<Key, Order>> = {
  'ctrl-c': { kind: 'quit' },
  'ctrl-z': { kind: 'suspend' },
  'ctrl-l': { kind: 'repaint' },
};

export function pressKey(state: TopState, key: Key, context: KeyContext): Pressed {
  const order = EVERYWHERE[key];
  if (order !== undefined) return { state, order };
  const { page } = state;
  switch (page.kind) {
    case 'table':
      return pressInTable({ ...state, message: '' }, key, context);
    case 'help':
      return { state: { ...state, page: { kind: 'table' } } };
    case 'filter':
      return { state: pressInFilter(state, page, key) };
    case 'run':
      return pressInRun({ ...state, message: '' }, page, key, context);
    case 'confirm':
      return pressInConfirm(state, page, key, context);
  }
}

const STEPS: Readonly<Record<Key, (page: number) => number>> = {
  up: () => -1,
  k: () => -1,
  down: () => 1,
  j: () => 1,
  'page-up': (page) => -page,
  'page-down': (page) => page,
  home: () => -Infinity,
  end: () => Infinity,
};

const stepOf = (key: Key, { size }: KeyContext): number | undefined =>
  STEPS[key]?.(Math.max(1, size.rows - 6));

function pressInTable(state: TopState, key: Key, context: KeyContext): Pressed {
  const step = stepOf(key, context);
  if (step !== undefined) return { state: moveBy(state, step) };
  const turn = TABLE_KEYS[key];
  if (turn !== undefined) return { state: turn(state) };
  if (key === 'q') return { state, order: { kind: 'quit' } };
  return ask(state, key, context.nowMs, { kind: 'table' });
}

const TABLE_KEYS: Readonly<Record<Key, (state: TopState) => TopState>> = {
  enter: openSelected,
  o: openSelected,
  s: (state) => ({ ...state, sort: SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? 'state' }),
  r: (state) => ({ ...state, isReversed: !state.isReversed }),
  e: (state) => select({ ...state, showsEnded: !state.showsEnded }),
  '/': (state) => ({ ...state, page: { kind: 'filter', before: state.filter } }),
  escape: (state) => ({ ...state, filter: '' }),
  '?': (state) => ({ ...state, page: { kind: 'help' } }),
};

function openSelected(state: TopState): TopState {
  const { selected } = state;
  return selected === null
    ? state
    : { ...state, page: { kind: 'run', runId: selected, tail: 'events', up: 0 } };
}

function moveBy(state: TopState, step: number): TopState {
  const rows = listShown(state);
  const place = Math.min(Math.max(findPlace(state) + step, 0), rows.length - 1);
  return { ...state, selected: rows[place]?.runId ?? null };
}

/** The first, where the selected one is no longer shown. */
function select(state: TopState): TopState {
  return findPlace(state) === -1 ? { ...state, selected: listShown(state)[0]?.runId ?? null } : state;
}

function pressInFilter(state: TopState, { before }: { readonly before: string }, key: Key): TopState {
  const { filter } = state;
  if (key === 'enter') return { ...state, page: { kind: 'table' } };
  if (key === 'escape') return select({ ...state, filter: before, page: { kind: 'table' } });
  if (key === 'backspace') return select({ ...state, filter: [...filter].slice(0, -1).join('') });
  return [...key].length === 1 ? select({ ...state, filter: filter + key }) : state;
}

function pressInRun(state: TopState, page: RunPage, key: Key, context: KeyContext): Pressed {
  const step = stepOf(key, context);
  if (step !== undefined) {
    const up = Math.min(Math.max(page.up - step, 0), context.tailLines);
    return { state: { ...state, page: { ...page, up } } };
  }
  if (key === 'escape' || key === 'q') return { state: { ...state, page: { kind: 'table' } } };
  if (key === 'tab') {
    const tail = TAILS[(TAILS.indexOf(page.tail) + 1) % TAILS.length] ?? 'events';
    return { state: { ...state, page: { ...page, tail, up: 0 } } };
  }
  return ask({ ...state, selected: page.runId }, key, context.nowMs, page);
}

/** PK1 */
function ask(state: TopState, key: Key, nowMs: number, back: { readonly kind: 'table' } | RunPage): Pressed {
  const run = findSelected(state);
  if (run === undefined || !['c', 'a', 'd'].includes(key)) return { state };
  const { runId, waitsFor, status } = run;
  const confirm = (question: Question): TopState => ({
    ...state,
    page: { kind: 'confirm', question, askedMs: nowMs, scroll: 0, back },
  });
  if (key === 'c') {
    if (status === 'queued' || status === 'running')
      return { state: confirm({ kind: 'cancel', runId, text: run.description }) };
    return { state: { ...state, message: 'This run has ended.' } };
  }
  if (waitsFor?.kind === 'approval') {
    const { id: approvalId, text } = waitsFor;
    const kind = key === 'a' ? 'allow' : 'deny';
    return {
      state: confirm({ kind, runId, approvalId, text, isWhole: false }),
      order: { kind: 'read-call', approvalId },
    };
  }
  const message =
    waitsFor === undefined
      ? 'No call of this run waits for a decision.'
      : `It asks a question. Answer it from a shell: caisson answer ${runId} "…"`;
  return { state: { ...state, message } };
}

function pressInConfirm(
  state: TopState,
  page: Extract<Page, { kind: 'confirm' }>,
  key: Key,
  context: KeyContext,
): Pressed {
  const last = Math.max(0, countConfirmLines(page.question, context.size) - confirmRoom(context.size));
  const step = stepOf(key, context);
  if (step !== undefined) {
    const scroll = Math.min(Math.max(page.scroll + step, 0), last);
    return { state: { ...state, page: { ...page, scroll } } };
  }
  if (context.nowMs - page.askedMs < UNREAD_MS) return { state }; // PK2
  const done: TopState = { ...state, page: page.back, message: '' };
  if (key !== 'y' && key !== 'Y') return { state: done };
  if (page.question.kind === 'allow' && !page.question.isWhole)
    return { state: { ...state, message: 'The whole call has not been read yet.' } }; // PK3
  if (page.scroll < last) return { state: { ...state, message: 'Read to its end first: down, page down.' } }; // PK3
  return { state: done, order: { kind: 'carry-out', question: page.question } };
}
