import type { QuestionRow } from '@caisson/engine';
import type { ThreadView } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { formatThread, formatThreads } from './format-threads.ts';
import { render, STYLE, type Lines } from './painted.ts';
import { describeWarning } from './print-warnings.ts';

const ID = 'thread_01m7s1866hbngzvhr6ms';
const THREAD: ThreadView = {
  threadId: ID,
  workflow: 'fix-the-nightly-build',
  status: 'waiting',
  trigger: { kind: 'user' },
  acceptedAt: '2026-11-19T04:32:45.777Z',
  acceptedOffset: 1,
  rounds: 0,
  maxRounds: 50,
  timeoutMs: 1000,
  waitsFor: [{ ordinal: 0, kind: 'ask', questionId: 'question_01m7s187fbpzthegn1nj' }],
  payload: null,
  causes: [],
  messages: [],
  runs: [],
};
const QUESTION: QuestionRow = {
  questionId: 'question_01m7s187fbpzthegn1nj',
  runId: ID,
  attempt: 0,
  askedAt: '2026-11-19T04:32:46.000Z',
  askedOffset: 2,
  status: 'open',
  text: 'Which colour?\nOf the door.',
  options: ['red', 'blue'],
};
const BOOM =
  'one threw: Error: role is broken\n    at one (workflows/w.ts:2:105)\n    at run (guest.mjs:1:1)';

const show = (lines: Lines): string[] => lines.map((line) => render(line, false));

test('ids of a list stay whole on a narrow terminal, and every column has a heading', () => {
  const failed: ThreadView = { ...THREAD, status: 'failed', detail: BOOM, waitsFor: [] };
  const [head = '', ...rows] = show(formatThreads([THREAD, failed], STYLE, 80));
  expect(head).toMatch(/^THREAD .*DETAIL$/);
  expect(rows.filter((row) => row.startsWith(ID))).toHaveLength(2);
  const wide = show(formatThreads([THREAD, failed], STYLE, 200)).slice(1);
  expect(wide).toEqual([
    expect.stringMatching(/waits for an answer$/),
    expect.stringMatching(/one threw: Error: role is broken$/),
  ]);
});

test('a thread that waits for an answer shows its question and the command that answers', () => {
  const lines = show(formatThread(THREAD, [QUESTION], STYLE));
  expect(lines.slice(-5)).toEqual([
    'question  Which colour?',
    '          Of the door.',
    '  - red',
    '  - blue',
    `answer    caisson answer ${ID} "…"`,
  ]);
});

test('the lines of a stack stay lines, below the name of what they belong to', () => {
  const lines = show(formatThread({ ...THREAD, status: 'failed', detail: BOOM }, [], STYLE));
  expect(lines.slice(2, 5)).toEqual([
    'status    failed: one threw: Error: role is broken',
    '              at one (workflows/w.ts:2:105)',
    '              at run (guest.mjs:1:1)',
  ]);
  expect(show(describeWarning('residents', 'w: broken\n    at one\u001b[2J'))).toEqual([
    'warning: residents: w: broken',
    String.raw`      at one\u001b[2J`,
  ]);
});

test('a thread whose workflow gets no work is held, in the list and by itself', () => {
  const held: ThreadView = {
    ...THREAD,
    status: 'running',
    heldBy: 'workflow.w does not load: Error: no',
    waitsFor: [],
  };
  const [, row = ''] = show(formatThreads([held], STYLE, 200));
  expect(row).toMatch(/ held .*waits: workflow\.w does not load/);
  expect(show(formatThread(held, [], STYLE))).toContain('status    held');
});
