/** Which phase a run was in: one follows the other without a hole. */
import type { EventEnvelope } from '@caisson/protocol';
import type { Bar, OpenBar, Tone } from './build-timeline.ts';

export interface OpenPhases {
  readonly bars: Bar[];
  current: OpenBar | null;
}

export function addPhase(phases: OpenPhases, event: EventEnvelope, atMs: number): void {
  const next = findPhase(event);
  if (next === null) return;
  if (next.startMsBefore !== undefined && phases.current !== null) {
    const startMs = Math.max(phases.current.startMs, atMs - next.startMsBefore);
    enter(phases, startMs, 'agent works', 'run', event.attempt);
  }
  enter(phases, atMs, next.label, next.tone, event.attempt);
}

export function endPhases(phases: OpenPhases, endMs: number, isOpen: boolean): Bar[] {
  const { current, bars } = phases;
  if (current === null) return bars;
  return [...bars, { ...current, endMs: Math.max(current.startMs, endMs), isOpen }];
}

function enter(phases: OpenPhases, startMs: number, label: string, tone: Tone, attempt: number): void {
  const { current } = phases;
  if (current !== null && startMs > current.startMs) phases.bars.push({ ...current, endMs: startMs });
  const detail = attempt > 0 ? `attempt ${attempt}` : '';
  phases.current = label === '' ? null : { lane: 'phases', startMs, label, detail, tone };
}

interface Phase {
  readonly label: string;
  readonly tone: Tone;
  /** The agent had worked for so long when the event came. */
  readonly startMsBefore?: number;
}

/** The phase that begins with an event; an empty label ends all. */
function findPhase(event: EventEnvelope): Phase | null {
  switch (event.type) {
    case 'dispatch.accepted':
      return { label: 'accepted', tone: 'quiet' };
    case 'run.queued':
      return { label: 'queued', tone: 'wait' };
    case 'attempt.launched':
      return { label: 'starts', tone: 'quiet' };
    case 'dispatch.started':
      return { label: 'works', tone: 'run' };
    case 'runtime.adapter.ran':
      return { label: 'checks and saves', tone: 'quiet', startMsBefore: event.durationMs };
    case 'attempt.ended':
      return { label: 'waits to try again', tone: 'wait' };
    case 'dispatch.finished':
    case 'dispatch.failed':
    case 'dispatch.cancelled':
    case 'dispatch.needs_input':
      return { label: '', tone: 'quiet' };
    default:
      return null;
  }
}
