/** What one event does to the bars: it starts one, ends one, or is one that is over. */
import type { EventEnvelope } from '@caisson/protocol';
import type { Bar, OpenBar, Tone } from './build-timeline.ts';

export type Step =
  | { readonly kind: 'start'; readonly id: string; readonly bar: OpenBar }
  | { readonly kind: 'end'; readonly id: string; readonly tone: Tone; readonly detail?: string }
  | { readonly kind: 'bar'; readonly bar: Bar };

export function findStep(event: EventEnvelope, atMs: number): Step | null {
  return findWork(event, atMs) ?? findWait(event, atMs);
}

function findWork(event: EventEnvelope, atMs: number): Step | null {
  switch (event.type) {
    case 'tool.started': {
      const { tool: label, what: detail } = event;
      return start(toolId(event), { lane: 'tools', startMs: atMs, label, detail, tone: 'run' });
    }
    case 'tool.ended':
      return end(toolId(event), event.ok ? 'ok' : 'bad', event.detail);
    case 'model.called': {
      const tone = event.outcome === 'answered' ? 'ok' : 'bad';
      return over(event, atMs, { lane: 'model', label: event.model, detail: describeCall(event), tone });
    }
    case 'script.ran': {
      const tone = event.exitCode === 0 ? 'ok' : 'bad';
      const detail = `${event.command ?? ''} ended with ${event.exitCode ?? 'no code'}`;
      return over(event, atMs, { lane: 'scripts', label: event.lens, detail, tone });
    }
    default:
      return null;
  }
}

function findWait(event: EventEnvelope, startMs: number): Step | null {
  const wait = { lane: 'waits', startMs, tone: 'wait' } as const;
  switch (event.type) {
    case 'approval.requested':
      return start(event.approvalId, { ...wait, label: `approval of ${event.tool}`, detail: event.what });
    case 'approval.decided':
      return end(event.approvalId, 'wait', `${event.decision} by ${event.by}`);
    case 'question.asked':
      return start(event.questionId, { ...wait, label: 'question', detail: event.text });
    case 'question.answered':
    case 'question.expired':
      return end(event.questionId, 'wait', event.type.slice('question.'.length));
    case 'run.queued': {
      const detail = `place ${event.position}, ${event.limit} at once`;
      return start('queue', { ...wait, label: 'waits for a slot', detail });
    }
    case 'attempt.launched':
      return end('queue', 'wait');
    case 'run.stalled': {
      const { silentMs, reason, detail } = event;
      const label = reason.replaceAll('-', ' ');
      return start('stall', { lane: 'waits', startMs: startMs - silentMs, label, detail, tone: 'bad' });
    }
    default:
      return null;
  }
}

function start(id: string, bar: OpenBar): Step {
  return { kind: 'start', id, bar };
}

function end(id: string, tone: Tone, detail?: string): Step {
  return { kind: 'end', id, tone, ...(detail === undefined ? {} : { detail }) };
}

function over({ durationMs }: { durationMs: number }, endMs: number, bar: Omit<OpenBar, 'startMs'>): Step {
  return { kind: 'bar', bar: { ...bar, startMs: endMs - durationMs, endMs } };
}

/** A call's id is the agent's: another attempt may use it again. */
function toolId({ attempt, callId }: { attempt: number; callId: string }): string {
  return `tool:${attempt}:${callId}`;
}

function describeCall(event: Extract<EventEnvelope, { type: 'model.called' }>): string {
  const { input, output, cacheRead } = event.tokens;
  const detail = event.detail === undefined ? '' : `\n${event.detail}`;
  return `${event.outcome}: ${input} tokens in, ${output} out, ${cacheRead} from the cache${detail}`;
}
