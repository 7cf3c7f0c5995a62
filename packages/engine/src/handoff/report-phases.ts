/** A line for people for each phase of a task: `[worker:task-001] pushed: worker/task-001`. */
import {
  TERMINAL_TYPES,
  isEnding,
  type EnvelopeOf,
  type EventEnvelope,
  type EventType,
} from '@caisson/protocol';
import type { PoolRun } from './contract.ts';

const PHASES: readonly EventType[] = [
  ...([
    'dispatch.accepted',
    'run.queued',
    'repository.fetched',
    'attempt.launched',
    'dispatch.started',
  ] as const),
  ...(['attempt.ended', 'runtime.adapter.ran', 'processes.ended', 'work.saved', 'handoff.recorded'] as const),
  ...(['branch.pushed', 'branch.push-failed', 'workspace.removed'] as const),
  ...TERMINAL_TYPES,
];
const SHORT_COMMIT = 12;

/** Resolves when the run has no more events. What is wrong with the run is said by its ending. */
export async function reportPhases(run: PoolRun, taskId: string, log: (line: string) => void): Promise<void> {
  if (run.events === undefined) return;
  try {
    for await (const event of run.events({ types: PHASES })) {
      const phase = describePhase(event, run.runId);
      if (phase !== null) log(`[worker:${taskId}] ${phase}`);
    }
  } catch {
    // the ending says it
  }
}

function describePhase(event: EventEnvelope, runId: string): string | null {
  switch (event.type) {
    case 'dispatch.accepted':
      return `accepted as ${runId}`;
    case 'run.queued':
      return `waits for a place (position ${event.position}, ${event.limit} at a time)`;
    case 'repository.fetched':
      return `fetched: ${event.ref} at ${event.commit.slice(0, SHORT_COMMIT)}`;
    case 'attempt.launched':
      return 'sandbox created';
    case 'dispatch.started':
      return 'worker started';
    case 'attempt.ended':
      return `attempt ${event.attempt} failed: ${event.failure.reason}; trying again`;
    case 'runtime.adapter.ran':
      return 'agent ended';
    case 'processes.ended':
      return event.left === 0 ? 'nothing of it runs any more' : `${event.left} processes could not be ended`;
    case 'work.saved':
      return event.commit === undefined ? 'work saved' : `work saved: ${event.commit.slice(0, SHORT_COMMIT)}`;
    case 'handoff.recorded':
      return `hand-off: ${event.handoff.status}, said by the ${event.handoff.by}${describeCheck(event.handoff)}`;
    case 'branch.pushed':
      return `pushed: ${event.branch}`;
    case 'branch.push-failed':
      return `not pushed: ${event.branch} (${event.reason})`;
    case 'workspace.removed':
      return 'workspace removed';
    default:
      return isEnding(event) ? `ended: ${describeEnding(event)}` : null;
  }
}

/** A check that failed does not reject the task, so it is said here. */
function describeCheck({ verdict }: EnvelopeOf<'handoff.recorded'>['handoff']): string {
  return verdict.verify === 'failed' ? '; its check FAILED' : '';
}

function describeEnding(ending: Extract<EventEnvelope, { type: (typeof TERMINAL_TYPES)[number] }>): string {
  if (ending.type === 'dispatch.failed') return `failed, ${ending.failure.reason}`;
  return ending.type.slice('dispatch.'.length);
}
