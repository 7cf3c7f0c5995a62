/** The events of a run, one line each; the same thing several times in a row is one line. */
import { formatExit, nameFailure } from './format-values.ts';
import {
  handleEnvelope,
  recordedTypeOf,
  type DataOf,
  type EnvelopeHandlers,
  type EventEnvelope,
} from '@caisson/protocol';
import { RESIDENT_WORDS } from './resident-words.ts';

const MAX_UNREAD = 500;

export function formatTimeline(events: readonly EventEnvelope[]): string[] {
  const elapsedAt = createElapsed(Date.parse(events[0]?.at ?? ''));
  const isRetried = events.some((event) => event.attempt > 1);
  const rows: { head: string; text: string; count: number }[] = [];
  for (const event of events) {
    const elapsedMs = elapsedAt(event);
    const attempt = isRetried && event.type === 'attempt.launched' ? ` number ${event.attempt}` : '';
    const text = `${recordedTypeOf(event)}${attempt}${describeEvent(event)}`;
    const last = rows.at(-1);
    if (last?.text === text) {
      last.count += 1;
      continue;
    }
    const offset = (elapsedMs / 1000).toFixed(3).padStart(9);
    rows.push({ head: `${offset} s  ${String(event.seq).padStart(3)}`, text, count: 1 });
  }
  return rows.map(({ head, text, count }) => `${head}  ${text}${count === 1 ? '' : ` (${count} times)`}`);
}

/**
 * The time since the first event. A clock that was set back is ignored. What a worker did before its next host adopted it is
 * recorded after `run.adopted`, with its own, earlier time: that is no clock that was set back.
 */
function createElapsed(firstMs: number): (event: EventEnvelope) => number {
  let lastMs = firstMs;
  let elapsedMs = 0;
  let aloneMs = Infinity;
  return ({ type, at }) => {
    const nowMs = Date.parse(at);
    if (type === 'run.adopted') aloneMs = Math.min(lastMs, nowMs);
    if (nowMs < lastMs && nowMs >= aloneMs) return elapsedMs - (lastMs - nowMs);
    elapsedMs += Math.max(0, nowMs - lastMs);
    lastMs = nowMs;
    return elapsedMs;
  };
}

/** What `show` cannot say anything about. */
export function describeUnread(runId: string, events: readonly EventEnvelope[]): string[] {
  const types = events.flatMap((event) => (event.type === 'unknown' ? [event.recordedType] : []));
  if (types.length === 0) return [];
  const named = [...new Set(types)].join(', ').slice(0, MAX_UNREAD);
  return [
    '',
    `A newer version wrote ${named}. What that says is missing here: caisson logs ${runId} has it.`,
  ];
}

const nothing = (): string => '';

/** Who did what to the run, or tried to. */
export function describeAct({ by, client, operation, target, decision }: DataOf<'visitor.acted'>): string {
  const who = client === undefined ? by : `${by} (${client})`;
  const did = `${who}: ${decision ?? operation}`;
  return target === undefined ? did : `${did} · ${target}`;
}

/** What stands beside the type; for most events the type says enough. */
const DESCRIPTIONS: EnvelopeHandlers<string> = {
  ...RESIDENT_WORDS,
  'dispatch.accepted': nothing,
  'dispatch.started': nothing,
  'dispatch.finished': nothing,
  'dispatch.needs_input': nothing,
  'dispatch.failed': ({ failure }) => nameFailure(failure),
  'dispatch.cancelled': ({ cause }) => (cause === 'shutdown' ? 'its host was ended' : 'it was stopped'),
  'task.refused': nothing,
  'run.queued': ({ position }) => `position ${position}`,
  'run.placed': nothing,
  'attempt.launched': nothing,
  'run.adopted': ({ host }) => `by ${host}`,
  'workspace.brought': ({ folders }) => folders.join(', '),
  'attempt.ended': ({ failure }) => nameFailure(failure),
  'run.stalled': ({ reason }) => reason,
  'health.changed': ({ current }) => current,
  'question.asked': nothing,
  'question.answered': ({ continuedBy }) => (continuedBy === undefined ? '' : `continues as ${continuedBy}`),
  'question.expired': nothing,
  'approval.requested': ({ what }) => what,
  'approval.decided': ({ decision }) => decision,
  'processes.ended': ({ left }) => (left === 0 ? '' : `${left} left`),
  'work.saved': nothing,
  'workspace.removed': nothing,
  'handoff.recorded': ({ handoff }) => `${handoff.status}, said by the ${handoff.by}`,
  'policy.denied': ({ denial }) => denial.what,
  'network.connection': ({ verdict, target }) => `${verdict} ${target}`,
  'channel.sent': ({ body }) => body,
  'channel.received': nothing,
  'cancel.requested': ({ by }) => `by ${by}`,
  'evidence.sealed': nothing,
  'callback.delivered': ({ event, url }) => `${event} to ${url}`,
  'callback.failed': ({ event, url }) => `${event} to ${url}`,
  'events.lost': ({ types }) => JSON.stringify(types),
  warning: ({ source, message }) => `${source}: ${message}`,
  'stream.malformed': ({ reason }) => reason,
  'script.ran': ({ lens, exitCode }) => `${lens} ${formatExit(exitCode)}`,
  'runtime.adapter.ran': ({ exitCode }) => formatExit(exitCode),
  'tool.started': nothing,
  'tool.ended': nothing,
  'agent.said': nothing,
  'model.called': nothing,
  'work.gap': ({ count }) => `${count} events`,
  'capture.done': ({ what, files }) => `${what}: ${countFiles(files)}`,
  'prompt.compiled': nothing,
  'repository.fetched': ({ remote, ref }) => `${remote} ${ref}`,
  'branch.pushed': ({ remote, branch }) => `${branch} to ${remote}`,
  'branch.push-failed': ({ branch, reason }) => `${branch}: ${reason}`,
  'branch.dropped': ({ branch }) => branch,
  'run.applied': nothing,
  'visitor.acted': describeAct,
  'timeout.drained': nothing,
  'trash.deleted': nothing,
  'run.forgotten': nothing,
  'worker.progress': nothing,
  'worker.heartbeat': nothing,
  'settle.waiting': nothing,
  'worker.boot': nothing,
  'sandbox.started': nothing,
  'verify.ran': nothing,
  'compaction.started': nothing,
  gap: nothing,
};

function describeEvent(event: EventEnvelope): string {
  const text = handleEnvelope(DESCRIPTIONS, event, () => '(a newer version wrote it)');
  return text === '' ? '' : ` ${text}`;
}

export function countFiles(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}
