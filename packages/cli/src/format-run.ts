/** `caisson show`: what was asked, what ran, what happened, what came out, what it cost, and what to do next. */
import { isEnding, type DispatchResult, type EventEnvelope } from '@caisson/protocol';
import { describeAsked, describeRan } from './format-asked.ts';
import { describeBranch, describePush } from './format-branch.ts';
import {
  describeBlocks,
  describeHeadline,
  describeHint,
  describeTotal,
  atLeast,
  findUsage,
  isInPlace,
  isUnderWay,
  labelled,
  listBeside,
  listOutsideScope,
} from './format-ending.ts';
import { describeHandoff } from './format-handoff.ts';
import { findUnreached } from './format-hint.ts';
import { describeLive } from './format-live.ts';
import { INTERRUPTED } from './format-again.ts';
import { describeNext } from './format-next.ts';
import { describeFailure } from './format-failure.ts';
import { isCommand, replyLines } from './format-reply.ts';
import { countFiles, describeUnread, formatTimeline } from './format-timeline.ts';
import { formatBytes, formatCost, formatDuration, formatEstimate } from './format-values.ts';
import { describeVerify } from './format-verify.ts';
import { formatTranscript, isWork } from './format-work.ts';
import { line as show, widthOfLine, type Line, type Lines, type Style } from './painted.ts';
import { wrapText } from './wrap-text.ts';

const MAX_REPLY_LINES = 40;
const MAX_SAID_LINES = 20;
const INDENT = 2;
/** What stands before a line of the transcript. */
const OFFSET = 11 + INDENT;

/** `columns`: where lines are wrapped; Infinity leaves that to the reader. `status`: what a run under way does. */
export function formatRun(
  result: DispatchResult,
  events: readonly EventEnvelope[],
  { style, columns, status }: { style: Style; columns: number; status?: string },
): Lines {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  const isForgotten = events.some((event) => event.type === 'run.forgotten');
  const section = (title: string, lines: Lines): Lines =>
    lines.length === 0
      ? []
      : ['', style.bold(title), ...trimEnd(lines).flatMap((line) => indentLine(line, columns))];
  return [
    describeHeadline(result, style, { elapsedMs: elapsedOf(events), status }),
    ...describeUnread(result.runId, events),
    section('Now', describeLive(result, Date.now())),
    section('Asked', describeAsked(result, accepted)),
    section('Ran', describeRan(result, accepted)),
    section('Did', formatTranscript(events, { style, columns: columns - OFFSET, maxLines: MAX_SAID_LINES })),
    section('Happened', formatTimeline(events.filter((event) => !isWork(event)))),
    section('Came out', [
      ...(result.failure === undefined
        ? []
        : [...describeFailure(result.failure, (printed) => result.reply.includes(printed)), '']),
      ...(result.status === 'interrupted' && result.failure === undefined ? [INTERRUPTED] : []),
      ...(isForgotten
        ? ['Its contents were deleted (caisson forget).']
        : [...describeOutcome(result, events, style), ...describeUnpatched(result)]),
      ...listBeside(result),
      ...listOutsideScope(result),
      ...describeBranch(result),
      ...describePush(result),
    ]),
    section('Handed off', isForgotten ? [] : describeHandoff(result)),
    section('Cost', describeCost(result)),
    section('Reported', (result.callbacks ?? []).map(describeCallback)),
    section(
      'Next',
      isForgotten
        ? []
        : [
            ...describeHint(result, events.some(isCommand), findFirst(events, findUnreached)),
            ...describeNext(result, events.some(isInPlace)),
          ],
    ),
  ].flat();
}

function findFirst<T>(events: readonly EventEnvelope[], find: (event: EventEnvelope) => T | null): T | null {
  for (const event of events) {
    const found = find(event);
    if (found !== null) return found;
  }
  return null;
}

/** From the acceptance to the ending. */
function elapsedOf(events: readonly EventEnvelope[]): number {
  const [first, last] = [events[0], events.findLast((event) => isEnding(event))];
  return first === undefined || last === undefined ? 0 : Date.parse(last.at) - Date.parse(first.at);
}

function trimEnd(lines: Lines): Lines {
  return lines.slice(0, lines.findLastIndex((line) => widthOfLine(line) > 0) + 1);
}

/** Wrapped lines are indented below their text, so that labels stay visible. */
function indentLine(given: Line, columns: number): Lines {
  const indent = ' '.repeat(INDENT);
  if (widthOfLine(given) === 0) return [''];
  if (widthOfLine(given) <= columns - INDENT) return [show`${indent}${given}`];
  const line = String(show`${given}`);
  const label = /^ *(\S+: +|\d[\d.]* s +\d+ +)/.exec(line)?.[0].length ?? 0;
  const [first = ''] = wrapText(line, columns - INDENT);
  const below = wrapText(line.slice(first.length).trimStart(), columns - INDENT - label);
  return [first, ...below.map((text) => ' '.repeat(label) + text)].map((text) => indent + text);
}

function describeOutcome(result: DispatchResult, events: readonly EventEnvelope[], style: Style): Line[] {
  const { runId, result: sealed } = result;
  const reply = replyLines(result, events.some(isCommand), MAX_REPLY_LINES);
  const lines: Line[] = reply.length === 0 ? [] : [...reply, ''];
  if (sealed === null) return lines.slice(0, -1);
  const { verify, logs, outputs, policy } = sealed;
  const captured = events
    .filter((event) => event.type === 'capture.done')
    .findLast(({ what }) => what === 'patch');
  if (verify !== undefined) lines.push(...describeVerify(verify, runId, style));
  lines.push(...describeBlocks(sealed, result.resolved.pipeline !== undefined, style));
  if (sealed.patchRef !== undefined && result.unpatched === undefined)
    lines.push(
      `patch: ${captured === undefined ? '' : `${countFiles(captured.files)}, `}caisson diff ${runId}`,
    );
  for (const { path, why } of result.risky ?? []) lines.push(`risky: ${path} ${why}`);
  for (const output of outputs) lines.push(`output: ${output.path} (${formatBytes(output.size)})`);
  for (const name of ['stdout', 'stderr'] as const)
    if (logs[name].bytes > 0)
      lines.push(`${name}: ${formatBytes(logs[name].bytes)}, caisson logs ${runId} --${name}`);
  for (const denial of policy.denials) lines.push(`denied by ${denial.layer}: ${denial.what}`);
  const isNothing = lines.length === 0 && result.failure === undefined && result.beside === undefined;
  return isNothing ? ['nothing'] : lines;
}

function describeUnpatched({ unpatched }: DispatchResult): Line[] {
  if (unpatched === undefined) return [];
  return [...labelled('no patch', unpatched.why), `the work is in: ${unpatched.where}`];
}

/** Money and tokens; and the three times separately: the worker's, the model's, those of checks. */
function describeCost(result: DispatchResult): string[] {
  const { verify } = result.result ?? {};
  const usage = result.result?.usage ?? result.usage;
  const times = [
    ...(usage?.durationMs === undefined ? [] : [`the model ${formatDuration(usage.durationMs)}`]),
    ...(verify === undefined ? [] : [`verify ${formatDuration(verify.durationMs)}`]),
  ];
  return [
    ...describeTotal(result),
    ...describeUsage(result),
    ...(isUnderWay(result)
      ? []
      : [
          `${formatDuration(result.durationMs)}${times.length === 0 ? '' : `, of which ${times.join(', ')}`}`,
        ]),
  ];
}

/** With more than one attempt the cost is shown beside all of them. */
function describeUsage(result: DispatchResult): string[] {
  const { total, costUsd, costIsEstimate } = result;
  const usage = findUsage(result);
  const parts = [
    ...(usage === undefined ? [] : [`${usage.inputTokens} tokens in, ${usage.outputTokens} out`]),
    ...(total !== undefined || (usage === undefined && costUsd === undefined)
      ? []
      : [formatCost(costUsd, costIsEstimate)]),
  ];
  const whose = `${total === undefined ? '' : 'the last attempt: '}${atLeast(result)}`;
  return parts.length === 0 ? [] : [`${whose}${parts.join(', ')}${formatEstimate(usage?.estimated)}`];
}

type Callback = NonNullable<DispatchResult['callbacks']>[number];

function describeCallback({ url, event, status, tries, detail }: Callback): string {
  const count = `${tries} ${tries === 1 ? 'try' : 'tries'}`;
  return `${status === 'pending' ? 'UNDELIVERED' : status}  ${event} to ${url} (${count}${detail === undefined ? '' : `, ${detail}`})`;
}
