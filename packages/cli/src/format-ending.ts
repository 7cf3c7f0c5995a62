/** The end of a run for people: the answer first, then what came out and what to do next. */
import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { replyLines } from './format-reply.ts';
import { formatBytes, formatCost, formatDuration } from './format-values.ts';
import type { Output } from './output.ts';
import { printable, printableText } from './printable.ts';

/** Where the work of a run is when it ends. */
export interface Whereabouts {
  /** It worked in the user's own files: there is nothing to bring there. */
  readonly isInPlace: boolean;
  /** It is brought there next, without being asked for. */
  readonly isApplied: boolean;
  /** It is a plain command's. */
  readonly isOfCommand: boolean;
}

export function formatEnding(
  result: DispatchResult,
  style: Output['style'],
  work: Whereabouts = { isInPlace: false, isApplied: false, isOfCommand: false },
): string {
  const reply = replyLines(result, work.isOfCommand);
  const lines: string[] = reply.length === 0 ? [] : [...reply, ''];
  lines.push(describeHeadline(result, style));
  if (result.failure !== undefined) lines.push(`  ${describeFailure(result.failure)}`);
  const question = result.result?.needsInput;
  if (question !== undefined)
    lines.push(
      `  question: ${printableText(question.question).replaceAll('\n', '\n            ')}`,
      ...(question.options ?? []).map((option) => `    - ${printable(option)}`),
      `  answer: caisson answer ${result.runId} "…"`,
    );
  lines.push(...describeOutcome(result, style, work));
  if (result.status !== 'done' && result.status !== 'waiting' && result.result?.patchRef === undefined) {
    lines.push(`  work so far, if any: caisson diff ${result.runId}`);
  }
  return lines.join('\n');
}

/** How it ended, which run, how long it took; what is under way has no duration yet. */
export function describeHeadline(result: DispatchResult, style: Output['style']): string {
  const took = isUnderWay(result) ? '' : `  ${formatDuration(result.durationMs)}`;
  return `${headline(result, style)}  ${result.runId}${took}`;
}

/** What is to do about a patch. */
export function describeApply(
  runId: string,
  isInPlace: boolean,
  risky: DispatchResult['risky'] = [],
): string {
  if (isInPlace) return 'in place: its changes are in your files already';
  return `apply: caisson apply ${runId}${risky.length === 0 ? '' : ' (asks about the risky files)'}`;
}

/** Whether the run worked in the user's own files. */
export function isInPlace(event: EventEnvelope): boolean {
  const workspace = event['workspace'] as { kind?: string } | undefined;
  return event.type === 'attempt.launched' && workspace?.kind === 'in-place';
}

export function isUnderWay({ status }: Pick<DispatchResult, 'status'>): boolean {
  return status === 'queued' || status === 'running';
}

function headline(result: DispatchResult, style: Output['style']): string {
  switch (result.status) {
    case 'done':
      return style.green('finished');
    case 'queued':
    case 'running':
      return result.status;
    case 'waiting':
      return style.yellow('needs input');
    case 'cancelled':
    case 'interrupted':
      return style.yellow(result.status);
    default:
      return style.red(result.status === 'error' ? 'failed' : result.status.replaceAll('_', ' '));
  }
}

export function describeFailure(failure: NonNullable<DispatchResult['failure']>): string {
  const cause = failure.cause === undefined ? '' : ` (${failure.cause})`;
  return `${failure.reason}${cause}: ${printableText(failure.detail)}`;
}

function describeOutcome(result: DispatchResult, style: Output['style'], work: Whereabouts): string[] {
  const sealed = result.result;
  if (sealed === null) return [];
  const lines: string[] = [];
  if (sealed.verify !== undefined) {
    lines.push(
      `  verify: ${sealed.verify.passed ? style.green('passed') : style.red('did not pass')} in ${formatDuration(sealed.verify.durationMs)}`,
    );
  }
  if (sealed.usage !== undefined) {
    const { inputTokens, outputTokens, models } = sealed.usage;
    lines.push(
      `  usage: ${inputTokens} in, ${outputTokens} out, ${formatCost(result.costUsd)}${models.length === 0 ? '' : `, ${models.join(', ')}`}`,
    );
  }
  // A plain command's complaints are worth a look; an agent program's chatter is not.
  if (sealed.usage === undefined && sealed.logs.stderr.bytes > 0)
    lines.push(`  stderr: ${formatBytes(sealed.logs.stderr.bytes)}, caisson logs ${result.runId} --stderr`);
  for (const output of sealed.outputs)
    lines.push(`  output: ${printable(output.path)} (${formatBytes(output.size)})`);
  if (sealed.patchRef !== undefined)
    lines.push(
      `  patch: caisson diff ${result.runId}`,
      ...(result.risky ?? []).map(({ path, why }) => `  risky: ${printable(path)} ${printable(why)}`),
      ...(work.isApplied && result.status === 'done' && sealed.verify?.passed !== false
        ? []
        : [`  ${describeApply(result.runId, work.isInPlace, result.risky)}`]),
    );
  return lines;
}
