/** Threads of workflows in words. */
import type { QuestionRow } from '@caisson/engine';
import type { ThreadRow, ThreadView } from '@caisson/protocol';
import { findCause } from './find-cause.ts';
import { formatPairs } from './format-pairs.ts';
import { formatTable } from './format-table.ts';
import { cutToWidth, formatAge } from './format-values.ts';
import { textLines, type Lines, type Style } from './painted.ts';

/** Wrapped where the terminal is narrow. */
const MAX_DETAIL_COLUMNS = 200;

const ageOf = (at: string): string => formatAge(Date.now() - Date.parse(at));

/** `answered`: questions that have an answer. */
export function formatThreads(
  threads: readonly ThreadRow[],
  { bold }: Style,
  columns?: number,
  answered: ReadonlySet<string> = new Set(),
): Lines {
  if (threads.length === 0) return ['No thread.'];
  const rows = threads.map((thread) => [
    thread.threadId,
    thread.workflow,
    nameStatus(thread),
    describeTrigger(thread),
    `${thread.rounds} of ${thread.maxRounds}`,
    ageOf(thread.acceptedAt),
    cutToWidth(
      thread.detail === undefined ? describeBriefly(thread, answered) : findCause(thread.detail),
      MAX_DETAIL_COLUMNS,
    ),
  ]);
  return formatTable(
    [['THREAD', 'WORKFLOW', 'STATUS', 'BY', 'ROUNDS', 'SINCE', 'DETAIL'], ...rows],
    bold,
    columns,
  );
}

/** One whose workflow gets no work is running for the record only. */
const nameStatus = ({ status, heldBy }: ThreadRow): string => (heldBy === undefined ? status : 'held');

/** Without ids, which are long: `show` has them. */
function describeBriefly({ waitsFor = [], heldBy }: ThreadRow, answered: ReadonlySet<string>): string {
  if (heldBy !== undefined) return `waits: ${findCause(heldBy)}`;
  return waitsFor
    .map(({ kind, questionId = '', until }) => {
      if (kind === 'ask') return answered.has(questionId) ? ANSWERED : 'waits for an answer';
      return [nameStep(kind), until].filter(isText).join(' ');
    })
    .join('; ');
}

/** The answer is recorded, and its step is not over: only a daemon goes on with it. */
const ANSWERED = 'answered; goes on with the next daemon';

/** As the role writes it. */
const nameStep = (kind: string): string => (kind === 'value' ? 'step' : kind);

const isText = (word: string | undefined): word is string => word !== undefined;

function describeTrigger({ trigger }: ThreadRow): string {
  if (trigger.kind === 'signal') return `signal ${trigger.name}`;
  return trigger.kind === 'schedule' ? `schedule ${trigger.schedule}` : 'you';
}

function describeWait({ waitsFor = [], heldBy }: ThreadRow, answered: ReadonlySet<string>): string {
  if (heldBy !== undefined) return heldBy;
  return waitsFor
    .map(({ kind, runIds, questionId, until }) => {
      const words = [nameStep(kind), runIds?.join(', '), questionId, until].filter(isText).join(' ');
      return questionId !== undefined && answered.has(questionId) ? `${words} (${ANSWERED})` : words;
    })
    .join('; ');
}

/** `asked`: its questions. */
export function formatThread(thread: ThreadView, asked: readonly QuestionRow[], style: Style): Lines {
  const open = asked.filter(({ status }) => status === 'open');
  return [
    ...formatPairs(
      {
        thread: thread.threadId,
        workflow: thread.workflow,
        status: [nameStatus(thread), thread.detail].filter((word) => word !== undefined).join(': '),
        by: describeTrigger(thread),
        accepted: thread.acceptedAt,
        started: thread.startedAt,
        ended: thread.endedAt,
        rounds: `${thread.rounds} of at most ${thread.maxRounds}`,
        waits: describeWait(thread, listAnswered(asked)) || undefined,
        continues: thread.continues,
        runs: thread.runs.join(', ') || undefined,
      },
      style,
    ),
    ...open.flatMap((question) => describeQuestion(question, thread.threadId, style)),
    ...describeContent('payload', thread.payload, style),
    ...thread.messages.flatMap(({ round, role, content }) =>
      describeContent(`round ${round}, ${role}`, content, style),
    ),
  ];
}

export function listAnswered(questions: readonly QuestionRow[]): ReadonlySet<string> {
  return new Set(questions.flatMap(({ questionId, status }) => (status === 'answered' ? [questionId] : [])));
}

/** The question as its role put it. */
function describeQuestion({ text, options = [] }: QuestionRow, threadId: string, style: Style): Lines {
  return [
    ...formatPairs({ question: text }, style),
    ...options.map((option) => `  - ${String(option)}`),
    ...formatPairs({ answer: `caisson answer ${threadId} "…"` }, style),
  ];
}

function describeContent(title: string, content: unknown, { bold }: Style): Lines {
  if (content === undefined || content === null) return [];
  const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
  return ['', bold(title), ...textLines(text)];
}
