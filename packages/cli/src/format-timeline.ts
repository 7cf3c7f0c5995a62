/** The events of a run, one line each; the same thing several times in a row is one line. */
import type { EventEnvelope } from '@caisson/protocol';

export function formatTimeline(events: readonly EventEnvelope[]): string[] {
  let lastMs = Date.parse(events[0]?.at ?? '');
  let elapsedMs = 0;
  const isRetried = events.some((event) => event.attempt > 1);
  const rows: { head: string; text: string; count: number }[] = [];
  for (const event of events) {
    const nowMs = Date.parse(event.at);
    elapsedMs += Math.max(0, nowMs - lastMs); // a clock that was set back takes no time away
    lastMs = nowMs;
    const attempt = isRetried && event.type === 'attempt.launched' ? ` number ${event.attempt}` : '';
    const text = `${event.type}${attempt}${describeEvent(event)}`;
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

const DESCRIPTIONS: Readonly<Record<string, (event: EventEnvelope) => string>> = {
  'script.ran': (event) => `${String(event['lens'])} exit ${String(event['exitCode'])}`,
  'runtime.adapter.ran': (event) => `exit ${String(event['exitCode'])}`,
  'capture.done': (event) => `${String(event['what'])}: ${countFiles(event['files'])}`,
  'policy.denied': (event) => (event['denial'] as { what: string }).what,
  'run.stalled': (event) => String(event['reason']),
  'run.queued': (event) => `position ${String(event['position'])}`,
  'network.connection': (event) => `${String(event['verdict'])} ${String(event['target'])}`,
  'approval.requested': (event) => String(event['what']),
  'approval.decided': (event) => String(event['decision']),
  'question.answered': (event) =>
    typeof event['continuedBy'] === 'string' ? `goes on as ${event['continuedBy']}` : '',
  'health.changed': (event) => String(event['current']),
  'channel.sent': (event) => String(event['body']),
  'callback.delivered': (event) => `${String(event['event'])} to ${String(event['url'])}`,
  'callback.failed': (event) => `${String(event['event'])} to ${String(event['url'])}`,
  'events.lost': (event) => JSON.stringify(event['types']),
  warning: (event) => `${String(event['source'])}: ${String(event['message'])}`,
};

function describeEvent(event: EventEnvelope): string {
  const failure = event['failure'] as { reason?: string; cause?: string } | undefined;
  if (failure !== undefined)
    return ` ${failure.reason ?? ''}${failure.cause === undefined ? '' : ` (${failure.cause})`}`;
  const text = DESCRIPTIONS[event.type]?.(event) ?? '';
  return text === '' ? '' : ` ${text}`;
}

export function countFiles(count: unknown): string {
  return count === 1 ? '1 file' : `${String(count)} files`;
}
