/** One recorded event in words. `-o ndjson` has all of it. */
import {
  handleEnvelope,
  recordedTypeOf,
  type EnvelopeHandlers,
  type EnvelopeOf,
  type EventEnvelope,
  type Failure,
  type Grant,
  type TerminalType,
} from '@caisson/protocol';
import { formatBytes, formatCost, formatDuration, nameFailure } from './format-values.ts';
import { describeCall, describeGap, oneLine } from './format-work.ts';
import { line, textLines, wrapLine, type Line, type Lines, type Painted } from './painted.ts';
import { describeAct } from './format-timeline.ts';
import { RESIDENT_WORDS } from './resident-words.ts';

const MAX_TEXT = 2000;
const MAX_BRIEF = 160;
const MAX_LINES = 12;
const TYPE_COLUMNS = 20;
const INDENT = ' '.repeat(6);

const WORDS: EnvelopeHandlers<string> = {
  ...RESIDENT_WORDS,
  'dispatch.accepted': ({ task, agent, runtime, grant, session, continues, parent }) =>
    sentence([
      text(task.description),
      `by ${text(agent ?? runtime)}`,
      describeGrant(grant),
      session !== undefined && `session ${text(session)}`,
      continues !== undefined && `continues ${text(continues)}`,
      parent !== undefined && `started by ${text(parent)}`,
    ]),
  'dispatch.started': () => 'the worker is up; the agent may begin',
  'dispatch.finished': (event) => describeEnding(event),
  'dispatch.needs_input': (event) => sentence([describeEnding(event), `question ${text(event.questionId)}`]),
  'dispatch.failed': (event) => sentence([describeFailure(event.failure), describeEnding(event)]),
  'dispatch.cancelled': (event) => sentence([`by ${event.cause}`, describeEnding(event)]),
  'task.refused': ({ check, detail, task }) => sentence([`${text(check)}: ${text(detail)}`, text(task)]),
  'run.queued': ({ position, limit }) => `position ${position}, ${limit} at a time`,
  'run.placed': () => 'its files are prepared',
  'attempt.launched': ({ attempt, workspace, handle }) =>
    sentence([
      `attempt ${attempt}`,
      `${text(workspace.kind)} in ${text(workspace.path)}`,
      `worker pid ${text(handle.pid)}`,
    ]),
  'run.adopted': ({ host, epoch, previousHost }) =>
    `by ${text(host)} after ${text(previousHost)}, epoch ${epoch}`,
  'workspace.brought': ({ folders }) => text(folders.join(', ')),
  'attempt.ended': ({ failure, nextAttempt, delayMs }) =>
    sentence([describeFailure(failure), `attempt ${nextAttempt} in ${formatDuration(delayMs)}`]),
  'run.stalled': ({ reason, silentMs, detail }) =>
    sentence([`${reason} for ${formatDuration(silentMs)}`, text(detail)]),
  'health.changed': ({ previous, current }) => `${previous} → ${current}`,
  'question.asked': (event) => sentence([text(event.text), choices(event.options)]),
  'question.answered': ({ answer }) => text(answer),
  'question.expired': ({ questionId }) => text(questionId),
  'approval.requested': ({ tool, what, actionClass }) =>
    sentence([what.startsWith(tool) ? text(what) : `${text(tool)}: ${text(what)}`, text(actionClass)]),
  'approval.decided': ({ decision, by }) => `${decision} by ${by}`,
  'processes.ended': ({ left }) => (left === 0 ? 'all of them' : `${left} could not be ended`),
  'work.saved': ({ ref, commit }) =>
    sentence([text(ref), commit !== undefined && `commit ${text(commit).slice(0, 12)}`]),
  'workspace.removed': () => '',
  'handoff.recorded': ({ handoff }) =>
    sentence([`${handoff.status}, said by the ${handoff.by}`, text(handoff.summary)]),
  'policy.denied': ({ denial }) => sentence([text(denial.what), `rule ${text(denial.rule)}`]),
  'network.connection': ({ verdict, target, via, detail, bytesUp, bytesDown, durationMs }) =>
    sentence([
      `${verdict} ${text(target)} by ${via}`,
      detail !== undefined && text(detail),
      `${formatBytes(bytesUp)} up, ${formatBytes(bytesDown)} down in ${formatDuration(durationMs)}`,
    ]),
  'channel.sent': ({ body }) => text(body),
  'channel.received': ({ messageId }) => text(messageId),
  'cancel.requested': ({ by, force }) => `by ${text(by)}${force ? ', by force' : ''}`,
  'evidence.sealed': ({ keyId }) => `signed with key ${text(keyId).slice(0, 16)}`,
  'callback.delivered': ({ event, url, status, tries }) =>
    `${text(event)} to ${text(url)}: ${status} at try ${tries}`,
  'callback.failed': ({ event, url, detail, tries }) =>
    `${text(event)} to ${text(url)}: ${text(detail)} after ${tries} tries`,
  'events.lost': ({ count, types }) => `${count} in all: ${text(JSON.stringify(types))}`,
  warning: ({ source, message }) => `${text(source)}: ${text(message)}`,
  'stream.malformed': ({ reason, bytes, head }) => `${text(reason)}, ${formatBytes(bytes)}: ${text(head)}`,
  'script.ran': (event) => sentence([`${text(event.lens)} \`${text(event.command)}\``, describeExit(event)]),
  'runtime.adapter.ran': (event) =>
    sentence([
      describeExit(event),
      `${printedBytes(event.stdout)} on stdout, ${printedBytes(event.stderr)} on stderr`,
    ]),
  'tool.started': (event) => brief(describeCall(event)),
  'tool.ended': ({ tool, ok, durationMs, detail }) =>
    sentence([
      `${text(tool)} ${ok ? 'ok' : 'failed'} after ${formatDuration(durationMs)}`,
      detail !== undefined && brief(detail),
    ]),
  'agent.said': ({ text: said, isWaiting, cutBytes = 0 }) =>
    sentence([
      isWaiting === true && 'waits',
      brief(said),
      cutBytes > 0 && `${formatBytes(cutBytes)} more not recorded`,
    ]),
  'model.called': ({ model, tokens, outcome, durationMs, detail, costUsd, isEstimate }) =>
    sentence([
      `${text(model)} ${outcome} after ${formatDuration(durationMs)}`,
      `${isEstimate === true ? '~' : ''}${tokens.input + tokens.cacheRead + tokens.cacheWrite} tokens in, ${tokens.output} out`,
      costUsd !== undefined && formatCost(costUsd, isEstimate),
      detail !== undefined && text(detail),
    ]),
  'work.gap': describeGap,
  'capture.done': ({ what, files, bytes }) =>
    files === 0
      ? `${text(what)}: nothing`
      : `${text(what)}: ${files} ${files === 1 ? 'file' : 'files'}, ${formatBytes(bytes)}`,
  'prompt.compiled': ({ role, fragmentCount, estimatedTokens }) =>
    `${text(role)}, ${fragmentCount} ${fragmentCount === 1 ? 'fragment' : 'fragments'}, about ${estimatedTokens} tokens`,
  'repository.fetched': ({ remote, ref, commit, ms }) =>
    `${text(remote)} ${text(ref)} at ${text(commit).slice(0, 12)} in ${formatDuration(ms)}`,
  'branch.pushed': ({ remote, branch }) => `${text(branch)} to ${text(remote)}`,
  'branch.push-failed': ({ remote, branch, reason, detail }) =>
    `${text(branch)} to ${text(remote)}: ${reason}, ${text(detail)}`,
  'branch.dropped': ({ branch }) => text(branch),
  'run.applied': ({ files, hasConflicts, isPartial }) =>
    `${isPartial === true ? 'a part of its work' : 'its work'} was taken over (${files} files${hasConflicts ? ', with conflict markers' : ''})`,
  'visitor.acted': (act) => text(describeAct(act)),
  'timeout.drained': () => 'the owner of its pool took its branch over',
  'trash.deleted': ({ path, bytes, why }) => `${text(path)}, ${formatBytes(bytes)} (${why})`,
  'run.forgotten': () => 'its contents were deleted',
  'worker.progress': ({ phase, message, tool }) =>
    sentence([phase, message !== undefined && text(message), tool != null && text(tool)]),
  'worker.heartbeat': ({ counters }) => `${counters.turns} turns, ${counters.toolCalls} tool calls`,
  'settle.waiting': ({ reason, delayMs }) => `${text(reason)}, again in ${formatDuration(delayMs)}`,
  'worker.boot': ({ pid }) => `worker pid ${pid}`,
  'sandbox.started': ({ purpose, pid }) => `${purpose}, pid ${pid}`,
  'verify.ran': ({ passed, durationMs }) =>
    `${passed ? 'passed' : 'failed'} after ${formatDuration(durationMs)}`,
  'compaction.started': ({ reason }) => (reason === undefined ? '' : text(reason)),
  gap: ({ count }) => `${count} events were left out`,
};

/** The event in one line, with printed output below it if that explains a failure. `columns`: where it is wrapped. */
export function formatEvent(
  event: EventEnvelope,
  style: { dim(text: Line): Line },
  columns = Infinity,
): Lines {
  const words = handleEnvelope(
    WORDS,
    event,
    ({ data }) => `a newer version wrote it, as it stands: ${text(JSON.stringify(data))}`,
  );
  const number = event.seq > 0 ? String(event.seq) : '-'; // of what is not recorded there is none
  const head = `${number.padStart(4)}  ${event.at.slice(11, 23)}`;
  const said = `${recordedTypeOf(event).padEnd(TYPE_COLUMNS)}  ${words}`.trimEnd();
  return [
    ...wrapLine(line`${style.dim(head)}  ${said}`, columns, INDENT.length),
    ...(event.type === 'script.ran' ? printed(event) : []),
  ];
}

function describeGrant({ hosts, sandbox, mode }: Grant): string {
  const network = hosts.length > 0 ? `, hosts ${text(hosts.join(' '))}` : '';
  return `mode ${mode}${network}${sandbox === 'none' ? ', no sandbox' : ''}`;
}

function describeEnding({
  usage,
  exitCode,
  durationMs,
  patchRef,
  costUsd,
}: EnvelopeOf<TerminalType>): string {
  const tokens = usage === undefined ? 0 : usage.inputTokens + usage.outputTokens;
  return sentence([
    typeof exitCode === 'number' && `exit ${exitCode}`,
    `after ${formatDuration(durationMs)}`,
    patchRef !== undefined && 'with a patch',
    tokens > 0 && `${tokens} tokens`,
    tokens > 0 && formatCost(costUsd, usage?.estimated !== undefined),
  ]);
}

function describeFailure({ step, detail, ...failure }: Failure): string {
  const where = step === undefined ? '' : ` in step ${step}`;
  return `${nameFailure(failure)}${where}: ${text(detail)}`;
}

function describeExit(event: EnvelopeOf<'script.ran' | 'runtime.adapter.ran'>): string {
  const signal = event.type === 'runtime.adapter.ran' ? event.signal : undefined;
  const how =
    event.type === 'script.ran' && event.timedOut === true
      ? 'timed out'
      : event.exitCode === null
        ? `ended by ${text(signal ?? 'a signal')}`
        : `exit ${event.exitCode}`;
  return `${how} after ${formatDuration(event.durationMs)}`;
}

/** The output of a failed command, under its line. */
function printed({ exitCode, stdout = '', stderr = '' }: EnvelopeOf<'script.ran'>): Painted[] {
  if (exitCode === 0) return [];
  const said = [stdout, stderr]
    .filter((part) => part !== '')
    .join('\n')
    .trimEnd();
  return said === '' ? [] : textLines(said, INDENT).slice(-MAX_LINES);
}

function printedBytes(stream: { readonly bytes: number } | undefined): string {
  return stream === undefined ? '-' : formatBytes(stream.bytes);
}

function choices(options: readonly string[] = []): string | false {
  return options.length > 0 && `(${options.map(text).join(' | ')})`;
}

function sentence(parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false && part !== '').join(' · ');
}

/** A transcript is in `caisson show`. */
function brief(words: string): string {
  const shown = text(words);
  return shown.length > MAX_BRIEF ? `${shown.slice(0, MAX_BRIEF)}…` : shown;
}

/** On one line, whatever an agent put into it. */
function text(value: string | number | undefined): string {
  if (value === undefined) return '-';
  const shown = oneLine(String(value));
  return shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}…` : shown;
}
