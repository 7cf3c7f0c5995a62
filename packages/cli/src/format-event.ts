/** One recorded event as a person reads it: what happened, in words. All of it is in `-o ndjson`. */
import type { EventEnvelope } from '@caisson/protocol';
import { formatBytes, formatCost, formatDuration } from './format-values.ts';
import { line, textLines, type Line, type Painted } from './painted.ts';

const MAX_TEXT = 2000;
const MAX_LINES = 12;
const TYPE_COLUMNS = 20;
const INDENT = ' '.repeat(6);

type Words = (event: EventEnvelope) => string;

const WORDS: Readonly<Record<string, Words>> = {
  'dispatch.accepted': (event) =>
    sentence([
      text(field(event['task'], 'description')),
      `by ${text(event['agent'] ?? event['runtime'])}`,
      describeGrant(event['grant']),
      isText(event['session']) && `session ${text(event['session'])}`,
      isText(event['continues']) && `continues ${text(event['continues'])}`,
    ]),
  'dispatch.started': () => 'the worker is up; the agent may begin',
  'dispatch.finished': (event) => describeEnding(event),
  'dispatch.needs_input': (event) =>
    sentence([describeEnding(event), `question ${text(event['questionId'])}`]),
  'dispatch.failed': (event) => sentence([describeFailure(event['failure']), describeEnding(event)]),
  'dispatch.cancelled': (event) => sentence([`by ${text(event['cause'])}`, describeEnding(event)]),
  'task.refused': (event) =>
    sentence([`${text(event['check'])}: ${text(event['detail'])}`, text(event['task'])]),
  'run.queued': (event) => `position ${text(event['position'])}, ${text(event['limit'])} at a time`,
  'attempt.launched': (event) =>
    sentence([
      `attempt ${event.attempt}`,
      `${text(field(event['workspace'], 'kind'))} in ${text(field(event['workspace'], 'path'))}`,
      `worker pid ${text(field(event['handle'], 'pid'))}`,
    ]),
  'attempt.ended': (event) =>
    sentence([
      describeFailure(event['failure']),
      `attempt ${text(event['nextAttempt'])} in ${duration(event['delayMs'])}`,
    ]),
  'run.stalled': (event) =>
    sentence([`${text(event['reason'])} for ${duration(event['silentMs'])}`, text(event['detail'])]),
  'health.changed': (event) => `${text(event['previous'])} → ${text(event['current'])}`,
  'question.asked': (event) => sentence([text(event['text']), choices(event['options'])]),
  'question.answered': (event) => text(event['answer']),
  'question.expired': (event) => text(event['questionId']),
  'approval.requested': (event) =>
    sentence([`${text(event['tool'])}: ${text(event['what'])}`, text(event['actionClass'])]),
  'approval.decided': (event) => `${text(event['decision'])} by ${text(event['by'])}`,
  'policy.denied': (event) =>
    sentence([text(field(event['denial'], 'what')), `rule ${text(field(event['denial'], 'rule'))}`]),
  'network.connection': (event) =>
    sentence([
      `${text(event['verdict'])} ${text(event['target'])} by ${text(event['via'])}`,
      isText(event['detail']) && text(event['detail']),
      `${bytes(event['bytesUp'])} up, ${bytes(event['bytesDown'])} down in ${duration(event['durationMs'])}`,
    ]),
  'channel.sent': (event) => text(event['body']),
  'channel.received': (event) => text(event['messageId']),
  'cancel.requested': (event) => `by ${text(event['by'])}${event['force'] === true ? ', by force' : ''}`,
  'evidence.sealed': (event) => `signed with key ${text(event['keyId']).slice(0, 16)}`,
  'callback.delivered': (event) =>
    `${text(event['event'])} to ${text(event['url'])}: ${text(event['status'])} at try ${text(event['tries'])}`,
  'callback.failed': (event) =>
    `${text(event['event'])} to ${text(event['url'])}: ${text(event['detail'])} after ${text(event['tries'])} tries`,
  'events.lost': (event) => `${text(event['count'])} in all: ${text(JSON.stringify(event['types']))}`,
  warning: (event) => `${text(event['source'])}: ${text(event['message'])}`,
  'stream.malformed': (event) => `${text(event['reason'])}, ${bytes(event['bytes'])}: ${text(event['head'])}`,
  'script.ran': (event) =>
    sentence([`${text(event['lens'])} \`${text(event['command'])}\``, describeExit(event)]),
  'runtime.adapter.ran': (event) =>
    sentence([
      describeExit(event),
      `${bytes(field(event['stdout'], 'bytes'))} on stdout, ${bytes(field(event['stderr'], 'bytes'))} on stderr`,
    ]),
  'capture.done': (event) =>
    event['files'] === 0
      ? `${text(event['what'])}: nothing`
      : `${text(event['what'])}: ${text(event['files'])} ${event['files'] === 1 ? 'file' : 'files'}, ${bytes(event['bytes'])}`,
  'prompt.compiled': (event) =>
    `${text(event['role'])}, ${text(event['fragmentCount'])} fragments, about ${text(event['estimatedTokens'])} tokens`,
  'run.forgotten': () => 'its contents were taken away',
};

/** The event in one line, with what was printed below it where that explains a failure. */
export function formatEvent(event: EventEnvelope, style: { dim(text: Line): Line }): Painted[] {
  const words = (WORDS[event.type] ?? describeUnknown)(event);
  const head = `${String(event.seq).padStart(4)}  ${event.at.slice(11, 23)}`;
  const said = `${event.type.padEnd(TYPE_COLUMNS)}  ${words}`.trimEnd();
  return [line`${style.dim(head)}  ${said}`, ...(event.type === 'script.ran' ? printed(event) : [])];
}

function describeUnknown(event: EventEnvelope): string {
  const {
    type: _t,
    version: _v,
    seq: _s,
    offset: _o,
    runId: _r,
    attempt: _a,
    at: _at,
    trace: _tr,
    ...data
  } = event;
  return text(JSON.stringify(data));
}

function describeGrant(grant: unknown): string {
  const hosts = field(grant, 'hosts');
  const network = Array.isArray(hosts) && hosts.length > 0 ? `, hosts ${text(hosts.join(' '))}` : '';
  const sandbox = field(grant, 'sandbox') === 'none' ? ', no sandbox' : '';
  return `mode ${text(field(grant, 'mode'))}${network}${sandbox}`;
}

function describeEnding(event: EventEnvelope): string {
  const usage = event['usage'];
  const tokens = Number(field(usage, 'inputTokens') ?? 0) + Number(field(usage, 'outputTokens') ?? 0);
  return sentence([
    typeof event['exitCode'] === 'number' && `exit ${event['exitCode']}`,
    `after ${duration(event['durationMs'])}`,
    isText(event['patchRef']) && 'with a patch',
    usage !== undefined && tokens > 0 && `${tokens} tokens`,
    usage !== undefined &&
      tokens > 0 &&
      formatCost(event['costUsd'] as number | undefined, field(usage, 'estimated') !== undefined),
  ]);
}

function describeFailure(failure: unknown): string {
  const cause = field(failure, 'cause');
  const step = field(failure, 'step');
  const where = typeof step === 'number' ? ` in step ${step}` : '';
  return `${text(field(failure, 'reason'))}${isText(cause) ? ` (${text(cause)})` : ''}${where}: ${text(field(failure, 'detail'))}`;
}

function describeExit(event: EventEnvelope): string {
  const code = event['exitCode'];
  const how =
    event['timedOut'] === true
      ? 'timed out'
      : typeof code === 'number'
        ? `exit ${code}`
        : `ended by ${text(event['signal'] ?? 'a signal')}`;
  return `${how} after ${duration(event['durationMs'])}`;
}

/** What a command that failed has printed, under its line. */
function printed(event: EventEnvelope): Painted[] {
  if (event['exitCode'] === 0) return [];
  const said = [event['stdout'], event['stderr']].filter(isText).join('\n').trimEnd();
  return said === '' ? [] : textLines(said, INDENT).slice(-MAX_LINES);
}

function choices(options: unknown): string | false {
  return Array.isArray(options) && options.length > 0 && `(${options.map(text).join(' | ')})`;
}

function sentence(parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false && part !== '').join(' · ');
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** On one line, whatever an agent put into it. */
function text(value: unknown): string {
  if (value === undefined || value === null) return '-';
  const words = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = words.trim().replaceAll(/\s*\n\s*/g, ' ⏎ ');
  return shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}…` : shown;
}

const duration = (value: unknown): string => (typeof value === 'number' ? formatDuration(value) : '-');
const bytes = (value: unknown): string => (typeof value === 'number' ? formatBytes(value) : '-');
