/** The end of a run for people: the answer first, then the results and what to do next. */
import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { describeAgain, INTERRUPTED } from './format-again.ts';
import { describeBranch, describePush, hasChangedNothing } from './format-branch.ts';
import { describeFailure } from './format-failure.ts';
import { findHint } from './format-hint.ts';
import { replyLines } from './format-reply.ts';
import { formatBytes, formatCost, formatDuration, formatEstimate, formatTook } from './format-values.ts';
import { describeVerify, paintPassed } from './format-verify.ts';
import { line, textLines, type Line, type Lines, type Painted, type Style } from './painted.ts';

/** Where the work of a run is when it ends. */
export interface Whereabouts {
  /** It worked in the user's own files: there is nothing to apply. */
  readonly isInPlace: boolean;
  /** It is applied next, without a question. */
  readonly isApplied: boolean;
  /** It is a plain command's. */
  readonly isOfCommand: boolean;
  /** What a call of the agent printed that failed without a network. */
  readonly unreached?: string | null;
  /** From the user's order to the end. */
  readonly elapsedMs?: number;
  /** What it answered is already on the screen. */
  readonly isReplyShown?: boolean;
}

export function formatEnding(
  result: DispatchResult,
  style: Style,
  work: Whereabouts = { isInPlace: false, isApplied: false, isOfCommand: false },
): Lines {
  const reply = work.isReplyShown === true ? [] : replyLines(result, work.isOfCommand);
  const lines: Line[] = reply.length === 0 ? [] : [...reply, ''];
  lines.push(describeHeadline(result, style, { elapsedMs: work.elapsedMs }));
  if (result.failure !== undefined)
    lines.push(
      ...describeFailure(result.failure, () => work.isOfCommand && work.isReplyShown === true).map(
        (text) => line`  ${text}`,
      ),
    );
  const question = result.result?.needsInput;
  if (question !== undefined)
    lines.push(
      ...labelled('  question', question.question),
      ...(question.options ?? []).map((option) => `    - ${option}`),
      result.continuedBy === undefined
        ? `  answer: caisson answer ${result.runId} "…"`
        : `  continued: caisson show ${result.continuedBy}`,
    );
  lines.push(...describeOutcome(result, style, work));
  lines.push(...describeHint(result, work.isOfCommand, work.unreached).map((text) => `  ${text}`));
  lines.push(...[...listSomeBeside(result), ...listOutsideScope(result)].map((text) => `  ${text}`));
  const branch = describeBranch(result);
  if (branch.length > 0) lines.push(...branch.map((text) => `  ${text}`));
  else if (hasChangedNothing(result) && !work.isOfCommand && !work.isInPlace)
    lines.push('  nothing was changed');
  lines.push(...describePush(result).map((text) => `  ${text}`));
  if (result.leftWork === true) lines.push(`  work so far: caisson diff ${result.runId}`);
  if (result.status === 'interrupted')
    lines.push(
      ...(result.failure === undefined ? [`  ${INTERRUPTED}`] : []),
      ...describeAgain(result).map((text) => `  ${text}`),
    );
  if (result.status === 'done' && !work.isOfCommand)
    lines.push(`  go on: caisson continue ${result.runId} "…"`);
  return lines;
}

/** The option that would help what failed. */
export function describeHint(
  result: DispatchResult,
  isOfCommand: boolean,
  unreached?: string | null,
): string[] {
  const hint = findHint(result, isOfCommand, unreached);
  return hint === null ? [] : [`hint: ${hint}`];
}

/** Every line of a text, the first with its label. */
export function labelled(label: string, text: string): Painted[] {
  return textLines(text.trimEnd()).map((part, index) =>
    index === 0 ? line`${label}: ${part}` : line`${' '.repeat(label.length + 2)}${part}`,
  );
}

/** How it ended, which run, how long it took; a run under way has no duration yet. */
export function describeHeadline(
  result: DispatchResult,
  style: Style,
  { elapsedMs, status = result.status }: { elapsedMs?: number | undefined; status?: string | undefined } = {},
): Painted {
  if (isUnderWay(result)) return line`${status}  ${result.runId}`;
  return line`${headline(result, style)}  ${result.runId}  ${formatTook(result.durationMs, elapsedMs)}`;
}

/** What is known of its use of a model; nothing if the model was never reached. */
export function findUsage({ result, costUsd, usage: counted }: DispatchResult): Sealed['usage'] {
  const usage = result?.usage ?? counted;
  if (usage === undefined || costUsd !== undefined || usage.models.length > 0) return usage;
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens > 0 ? usage : undefined;
}

/** Before figures that were counted until a run ended without its result. */
export const atLeast = ({ usage }: Pick<DispatchResult, 'usage'>): string =>
  usage === undefined ? '' : 'at least ';

/** What all attempts used and took, where there was more than one; the money is theirs together. */
export function describeTotal(result: DispatchResult): string[] {
  const { total, costUsd, costIsEstimate } = result;
  if (total === undefined) return [];
  const { attempts, durationMs, usage } = total;
  const used =
    usage === undefined
      ? ''
      : `${atLeast(result)}${usage.inputTokens} tokens in, ${usage.outputTokens} out, ${formatCost(costUsd, costIsEstimate)}, `;
  return [`all ${attempts} attempts: ${used}${formatDuration(durationMs)}`];
}

/** What to do about a patch. */
export function describeApply(
  runId: string,
  isInPlace: boolean,
  {
    risky = [],
    outsideScope = [],
    repository,
  }: Pick<DispatchResult, 'risky' | 'outsideScope' | 'repository'> = {},
): string {
  if (repository !== undefined) return `its changes are for ${repository.remote}, not for the files here`;
  if (isInPlace) return 'in place: its changes are already in your files';
  const scope = outsideScope.length === 0 ? '' : ' --outside-scope';
  return `apply: caisson apply ${runId}${scope}${risky.length === 0 ? '' : ' (asks about the risky files)'}`;
}

/** Whether the run worked in the user's own files. */
export function isInPlace(event: EventEnvelope): boolean {
  return event.type === 'attempt.launched' && event.workspace.kind === 'in-place';
}

const MAX_OUTSIDE_SHOWN = 20;

/** Files outside the task's scope. */
export function listOutsideScope({ outsideScope = [] }: Pick<DispatchResult, 'outsideScope'>): string[] {
  const shown = outsideScope.slice(0, MAX_OUTSIDE_SHOWN).map((path) => `outside the scope: ${path}`);
  const rest = outsideScope.length - shown.length;
  return rest === 0 ? shown : [...shown, `outside the scope: ${rest} more (caisson show -o json lists all)`];
}

/** Work that neither `diff` nor `apply` shows. */
export function listBeside({ beside = [] }: Pick<DispatchResult, 'beside'>): string[] {
  return beside.map(({ what, get }) => `not in the patch: ${what}; get it: ${get}`);
}

const MAX_BESIDE_SHOWN = 3;

/** The same in short, where it is not the main thing. */
export function listSomeBeside({ runId, beside = [] }: Pick<DispatchResult, 'runId' | 'beside'>): string[] {
  const rest = beside.length - MAX_BESIDE_SHOWN;
  return [
    ...listBeside({ beside: beside.slice(0, MAX_BESIDE_SHOWN) }),
    ...(rest > 0 ? [`not in the patch: ${rest} more; all of them: caisson show ${runId}`] : []),
  ];
}

type Sealed = NonNullable<DispatchResult['result']>;

/** Each block of the user's own pipeline; of ours only checks whose failure ends a run. */
export function describeBlocks({ blocks }: Sealed, isOwnPipeline: boolean, style: Style): Painted[] {
  if (isOwnPipeline) return blocks.map((block) => describeBlock(block, style));
  return blocks
    .filter((block) => block.lens === 'gate')
    .map(({ status }) => line`checked: ${paintPassed(status === 'ok', style)} (gate)`);
}

function describeBlock(
  { kind, ordinal, status, lens, exitCode, durationMs }: Sealed['blocks'][number],
  style: Style,
): Painted {
  const what = `${kind}${lens === undefined ? '' : ` (${lens})`}`;
  const exit = exitCode === undefined ? '' : `, exit ${exitCode}`;
  const outcome = status === 'ok' ? style.green(status) : style.red(WORDS_OF_BLOCK[status]);
  return line`block ${ordinal + 1}: ${what} ${outcome}${exit} in ${formatDuration(durationMs)}`;
}

const WORDS_OF_BLOCK = { failed: 'failed', timeout: 'timed out', reported: 'did not pass' } as const;

export function isUnderWay({ status }: Pick<DispatchResult, 'status'>): boolean {
  return status === 'queued' || status === 'running';
}

function headline(result: DispatchResult, style: Style): Line {
  switch (result.status) {
    case 'done':
      return result.result?.verify?.passed === false
        ? style.red('finished, check failed')
        : style.green('finished');
    case 'waiting':
      return style.yellow('needs input');
    case 'answered':
      return result.status;
    case 'cancelled':
    case 'interrupted':
      return style.yellow(result.status);
    default:
      return style.red(result.status === 'error' ? 'failed' : result.status.replaceAll('_', ' '));
  }
}

function describeOutcome(result: DispatchResult, style: Style, work: Whereabouts): Line[] {
  const sealed = result.result;
  if (sealed === null) return describeUse(result);
  const lines: Line[] = [];
  if (sealed.verify !== undefined)
    lines.push(...describeVerify(sealed.verify, result.runId, style).map((text) => line`  ${text}`));
  lines.push(...describeUse(result));
  // A plain command's stderr is worth reading; an agent program's is not.
  if (sealed.usage === undefined && sealed.logs.stderr.bytes > 0)
    lines.push(`  stderr: ${formatBytes(sealed.logs.stderr.bytes)}, caisson logs ${result.runId} --stderr`);
  for (const output of sealed.outputs) lines.push(`  output: ${output.path} (${formatBytes(output.size)})`);
  if (sealed.patchRef !== undefined)
    lines.push(
      `  patch: caisson diff ${result.runId}`,
      ...(result.risky ?? []).map(({ path, why }) => `  risky: ${path} ${why}`),
      ...(work.isApplied && result.status === 'done' && sealed.verify?.passed !== false
        ? []
        : [`  ${describeApply(result.runId, work.isInPlace, result)}`]),
    );
  return lines;
}

function describeUse(result: DispatchResult): Line[] {
  const totals = describeTotal(result).map((total) => `  ${total}`);
  const usage = findUsage(result);
  if (usage === undefined) return totals;
  const { inputTokens, outputTokens, models, estimated } = usage;
  const cost = result.total === undefined ? `, ${formatCost(result.costUsd, result.costIsEstimate)}` : '';
  const names = models.length === 0 ? '' : `, ${models.join(', ')}`;
  const counts = `${atLeast(result)}${inputTokens} in, ${outputTokens} out`;
  return [`  usage: ${counts}${cost}${names}${formatEstimate(estimated)}`, ...totals];
}
