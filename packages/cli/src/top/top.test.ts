import type { ListedRun } from '@caisson/engine';
import { expect, test } from 'vitest';
import { render, STYLE, widthOfLine } from '../painted.ts';
import { drawTop, formatOnce } from './draw-top.ts';
import { pressKey, type Order } from './press-key.ts';
import { createTopState, listShown, SORTS, takeCall, takeData, type TopState } from './top-state.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const SIZE = { rows: 12, columns: 120 };
const at = (secondsAgo: number): string => new Date(NOW - secondsAgo * 1000).toISOString();
const id = (number: number): string => `run_${String(number).padStart(20, '0')}`;

function run(number: number, more: Partial<ListedRun> = {}): ListedRun {
  return {
    runId: id(number),
    status: 'running',
    priority: 0,
    acceptedOffset: number,
    acceptedAt: at(60),
    attempt: 1,
    lastSeq: 3,
    host: 'h',
    description: `task ${number}`,
    ...more,
  };
}

const live = (more: Partial<NonNullable<ListedRun['live']>> = {}): NonNullable<ListedRun['live']> => ({
  phase: 'working',
  since: at(50),
  attempt: 1,
  turns: 1,
  toolCalls: 1,
  tokens: 0,
  health: 'healthy',
  source: 'host',
  ...more,
});
const held = (text = 'Bash: rm -rf old'): ListedRun =>
  run(3, { live: live(), waitsFor: { kind: 'approval', id: 'approval_x', text } });

const RUNS = [
  run(1, { status: 'done', ending: 'dispatch.finished', durationMs: 9000, costUsd: 2 }),
  run(2, { live: live({ tokens: 12_345, costUsd: 0.5, cpuPercent: 140, memoryBytes: 5 * 1024 ** 2 }) }),
  held(),
  run(4, { status: 'queued', position: 2 }),
  run(5, { status: 'queued', position: 1, agent: 'Reviewer' }),
];

const stateOf = (runs: readonly ListedRun[] = RUNS, choice: Partial<TopState> = {}): TopState =>
  takeData(createTopState(choice), { runs, residents: null });
const numbers = (state: TopState): number[] => listShown(state).map(({ runId }) => Number(runId.slice(4)));
const draw = (state: TopState, size = SIZE, tail: readonly string[] = []): string[] =>
  drawTop(state, { size, style: STYLE, now: NOW, tail }).map((each) => render(each, false));

/** Presses the keys one second after each other. */
function press(first: TopState, ...keys: string[]): { state: TopState; orders: Order[] } {
  let state = first;
  const orders: Order[] = [];
  for (const [index, key] of keys.entries()) {
    const pressed = pressKey(state, key, { nowMs: index * 1000, size: SIZE, tailLines: 50 });
    state = pressed.state;
    if (pressed.order !== undefined) orders.push(pressed.order);
  }
  return { state, orders };
}

test('what waits for a person comes first, then what runs, then the queue in its order, then what has ended', () => {
  expect(numbers(stateOf())).toEqual([3, 2, 5, 4, 1]);
  expect(SORTS.map((sort) => numbers(stateOf(RUNS, { sort }))[0])).toEqual([3, 5, 1, 2, 2, 2]);
  expect(numbers(stateOf(RUNS, { isReversed: true }))).toEqual([1, 4, 5, 2, 3]);
});

test('a filter is found in any case in what names a run, and ended runs can be hidden', () => {
  expect(numbers(stateOf(RUNS, { filter: 'reviewer' }))).toEqual([5]);
  expect(numbers(stateOf(RUNS, { filter: 'TASK 2' }))).toEqual([2]);
  expect(numbers(press(stateOf(), 'e').state)).toEqual([3, 2, 5, 4]);
  const typed = press(stateOf(), '/', 't', 'a', 's', 'k', ' ', '4').state;
  expect([numbers(typed), typed.selected]).toEqual([[4], id(4)]);
  expect(numbers(press(typed, 'escape').state)).toEqual([3, 2, 5, 4, 1]);
  expect(press(press(typed, 'backspace', 'enter').state, 'escape').state.filter).toBe('');
});

test('the selection stays with its run while rows move, and goes to its place when the run is gone', () => {
  const { state } = press(stateOf(), 'down', 'down');
  expect(state.selected).toBe(id(5));
  const moved = takeData(state, { runs: [...RUNS, run(6, { live: live() })], residents: null });
  expect(moved.selected).toBe(id(5));
  const gone = takeData(state, { runs: RUNS.filter(({ runId }) => runId !== id(5)), residents: null });
  expect(gone.selected).toBe(id(4));
  expect(takeData(state, { runs: [], residents: null }).selected).toBeNull();
  expect(press(stateOf(), 'end').state.selected).toBe(id(1));
});

/** As the screen does it once the call has been read from the record. */
const withCall = (state: TopState, text: string): TopState => takeCall(state, 'approval_x', text, 0);

test('nothing is allowed, denied or cancelled before y, and y names what was shown, whatever comes meanwhile', () => {
  const asked = press(stateOf(), 'a');
  expect(asked.orders).toEqual([{ kind: 'read-call', approvalId: 'approval_x' }]);
  expect(draw(asked.state).join('\n')).toMatch(/^Allow this call\?\n.*\n\n {2}Bash: rm -rf old\n/);
  expect(press(asked.state, 'ignored', 'n').orders).toEqual([]);
  const whole = withCall(asked.state, 'Bash:\n  command: rm -rf old');
  expect(draw(whole).join('\n')).toContain('command: rm -rf old');
  const other = takeData(whole, { runs: [held('Bash: another'), run(9)], residents: null });
  const text = 'Bash:\n  command: rm -rf old';
  const question = { kind: 'allow', runId: id(3), approvalId: 'approval_x', text, isWhole: true };
  const confirm = (state: TopState) => pressKey(state, 'y', { nowMs: 5000, size: SIZE, tailLines: 0 });
  expect(confirm(other).order).toEqual({ kind: 'carry-out', question });
  expect(confirm(press(stateOf(), 'd').state).order).toMatchObject({ question: { kind: 'deny' } });
  expect(confirm(press(stateOf(), 'c').state).order).toMatchObject({
    question: { kind: 'cancel', runId: id(3) },
  });
});

test('what was typed before the question was read does not confirm it', () => {
  const { state } = press(stateOf(), 'a');
  const early = pressKey(state, 'y', { nowMs: 200, size: SIZE, tailLines: 0 });
  expect([early.order, early.state.page.kind]).toEqual([undefined, 'confirm']);
});

test('a call is not allowed while only its first words are there, and is read from its beginning', () => {
  const { state } = press(stateOf(), 'a');
  const context = { nowMs: 5000, size: SIZE, tailLines: 0 };
  const refused = pressKey(state, 'y', context);
  expect([refused.order, refused.state.message]).toEqual([
    undefined,
    expect.stringContaining('not been read'),
  ]);
  expect(takeCall(state, 'approval_y', 'another', 0)).toBe(state);
  const whole = takeCall(state, 'approval_x', 'Write:\n  content: x', 4900);
  expect(pressKey(whole, 'y', context).order).toBeUndefined(); // PK2: it has only just come
  expect(pressKey(whole, 'y', { ...context, nowMs: 6000 }).order).toMatchObject({ kind: 'carry-out' });
});

test('a long call has to be read to its end', () => {
  const long = `Bash: ${'echo innocent; '.repeat(100)}rm -rf /`;
  const state = withCall(press(stateOf([held()]), 'a').state, long);
  expect(draw(state)).toHaveLength(SIZE.rows);
  const refused = press(state, 'wait', 'x').state; // any other key goes back
  expect(refused.page.kind).toBe('table');
  const context = { nowMs: 5000, size: SIZE, tailLines: 0 };
  const unread = pressKey(state, 'y', context);
  expect([unread.order, unread.state.message]).toEqual([undefined, expect.stringContaining('to its end')]);
  const read = pressKey(state, 'end', context).state;
  expect(draw(read).join('\n')).toContain('rm -rf /');
  expect(pressKey(read, 'y', context).order).toMatchObject({ kind: 'carry-out' });
});

test('a run that does not wait, asks a question or has ended is not decided about', () => {
  expect(press(stateOf([run(1)]), 'a').state.message).toBe('No call of this run waits for a decision.');
  const asks = run(1, { status: 'waiting', waitsFor: { kind: 'question', id: 'q', text: 'Which?' } });
  expect(press(stateOf([asks]), 'a').state.message).toContain(`caisson answer ${id(1)}`);
  expect(press(stateOf([RUNS[0] ?? run(1)]), 'c').state.message).toBe('This run has ended.');
  expect(press(stateOf([]), 'a', 'c', 'enter').state.page.kind).toBe('table');
});

test('the table has a row for each run, and fills the screen exactly', () => {
  const lines = draw(stateOf());
  expect(lines).toHaveLength(SIZE.rows);
  expect(lines[0]).toBe(
    'caisson top  2 running, 2 queued, 1 waits for you, $0.50 by those that run, no daemon',
  );
  expect(lines[1]).toMatch(/^RUN +STATEv +TOOL +TOKENS +COST +CPU +MEMORY +HEALTH +TIME +TASK/);
  expect(lines[3]).toMatch(/working +- +12\.3k +\$0\.50 … +140% +5\.0 MiB +ok +1 min 0 s … +task 2/);
  expect(lines.at(-1)).toContain('q quit');
});

test('no line is wider than the terminal, however small it is, and columns go before the task does', () => {
  const hostile = run(7, {
    description: `\u001b[2J${'字'.repeat(200)}`,
    live: live({ tool: { name: '\u0007x'.repeat(40), what: 'w', since: at(1), others: 0 } }),
  });
  for (const columns of [40, 60, 80, 120, 300])
    for (const rows of [4, 12, 50]) {
      const view = { size: { rows, columns }, style: STYLE, now: NOW, tail: [] };
      const pages: TopState[] = [stateOf([...RUNS, hostile]), press(stateOf([hostile]), 'enter').state];
      for (const state of [...pages, press(stateOf(), '?').state]) {
        const drawn = drawTop(state, view);
        if (state.page.kind !== 'help') expect(drawn.length).toBeLessThanOrEqual(Math.max(rows, 7));
        for (const each of drawn) {
          expect(render(each, false)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
          expect(widthOfLine(each)).toBeLessThanOrEqual(columns);
        }
      }
    }
  expect(draw(stateOf(), { rows: 12, columns: 60 })[1]).toMatch(/^RUN +STATEv .* TASK/);
});

test('an open run shows what it does and the end of its tail; up scrolls, escape goes back', () => {
  const { state } = press(stateOf(), 'down', 'enter');
  const tail = Array.from({ length: 50 }, (_, index) => `line ${index + 1}`);
  const lines = draw(state, SIZE, tail);
  expect(lines[0]).toContain(id(2));
  expect(lines.at(-3)).toBe('line 50');
  const up = press(state, 'up', 'up').state;
  expect(draw(up, SIZE, tail).at(-3)).toBe('line 48');
  expect(draw(press(up, 'home').state, SIZE, tail).join('\n')).toContain('line 1\n');
  expect(press(up, 'home', 'end').state.page).toMatchObject({ up: 0 });
  expect(press(state, 'tab').state.page).toMatchObject({ tail: 'stdout' });
  expect(press(state, 'escape').state.page.kind).toBe('table');
  expect(press(press(state, 'escape').state, 'q').orders).toEqual([{ kind: 'quit' }]);
});

test('residents are summed up in one line, and the table is printed once without a screen', () => {
  const residents = {
    residents: [
      { key: 'senses.ci', state: 'ready' as const, serves: [], crashes: 0, starts: 1, underWay: 0 },
    ],
    threads: { queued: 0, running: 1, waiting: 0 },
    schedules: [],
  };
  const state = takeData(createTopState(), { runs: RUNS.slice(0, 1), residents });
  const lines = formatOnce({ ...state, selected: null }, STYLE, Infinity, NOW).map((each) =>
    render(each, false),
  );
  expect(lines).toHaveLength(4);
  expect(lines[1]).toBe('residents: workers 1 ready; threads 1 running, 0 waiting, 0 queued');
  expect(lines[3]).toMatch(/^\S+ +done .* task 1$/);
});
