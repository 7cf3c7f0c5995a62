/** What a run waited for: a slot, or a person's decision. */
import { isEnding } from '@caisson/protocol';
import type { StoredEvent, StoredOf } from '../ledger/index.ts';
import type { RunSpan } from './contract.ts';
import { atMs, endOfAttemptMs } from './event-values.ts';
import type { SpannedRun } from './spans-of-run.ts';
import { createSpan } from './work-spans.ts';

export function listWaits(events: readonly StoredEvent[], run: SpannedRun): RunSpan[] {
  return events.flatMap((event): RunSpan[] => {
    if (event.type === 'run.queued') return [spanOfQueue(events, event, run)];
    if (event.type === 'approval.requested') return [spanOfApproval(events, event, run)];
    return [];
  });
}

function spanOfQueue(
  events: readonly StoredEvent[],
  queued: StoredOf<'run.queued'>,
  run: SpannedRun,
): RunSpan {
  const next = events.find((event) => event.seq > queued.seq && isPlaced(event));
  return createSpan(queued, run, {
    name: 'wait queue',
    startMs: atMs(queued),
    endMs: next === undefined ? run.endMs : placedMs(next),
    attributes: { 'caisson.queue.position': queued.data.position, 'caisson.queue.limit': queued.data.limit },
  });
}

/** The first that a run records with its slot, or instead of one. */
function isPlaced(event: StoredEvent): boolean {
  return event.type === 'repository.fetched' || event.type === 'attempt.launched' || isEnding(event);
}

/** A base is fetched with the slot, and recorded when it is here. */
function placedMs(event: StoredEvent): number {
  return event.type === 'repository.fetched' ? atMs(event) - event.data.ms : atMs(event);
}

function spanOfApproval(
  events: readonly StoredEvent[],
  asked: StoredOf<'approval.requested'>,
  run: SpannedRun,
): RunSpan {
  const decided = events.find(
    (event): event is StoredOf<'approval.decided'> & StoredEvent =>
      event.type === 'approval.decided' && event.data.approvalId === asked.data.approvalId,
  );
  return createSpan(asked, run, {
    name: 'wait approval',
    startMs: atMs(asked),
    endMs: decided === undefined ? (endOfAttemptMs(events, asked) ?? run.endMs) : atMs(decided),
    attributes: {
      'gen_ai.tool.name': asked.data.tool,
      ...(decided === undefined
        ? {}
        : { 'caisson.decision': decided.data.decision, 'caisson.decided_by': decided.data.by }),
    },
  });
}
