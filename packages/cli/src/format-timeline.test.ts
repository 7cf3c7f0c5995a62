import type { EventEnvelope } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { formatTimeline } from './format-timeline.ts';

/** Events of these types at these seconds. */
function eventsAt(...moments: readonly (readonly [EventEnvelope['type'], number])[]): EventEnvelope[] {
  return moments.map(([type, seconds], index) => {
    const at = new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
    return { type, at, seq: index + 1, attempt: 1, data: { host: 'host_x' } } as unknown as EventEnvelope;
  });
}

const secondsOf = (events: EventEnvelope[]): number[] =>
  formatTimeline(events).map((line) => Number.parseFloat(line));

it('what happened before an adoption and is recorded after it counts once', () => {
  const events = eventsAt(
    ['dispatch.accepted', 0],
    ['attempt.launched', 3],
    ['run.adopted', 20],
    ['work.saved', 5],
    ['workspace.removed', 18],
    ['dispatch.accepted', 30],
  );
  expect(secondsOf(events)).toEqual([0, 3, 20, 5, 18, 30]);
});

it('a clock that was set back is ignored, also after an adoption', () => {
  const events = eventsAt(
    ['dispatch.accepted', 100],
    ['run.adopted', 110],
    ['work.saved', 50],
    ['workspace.removed', 55],
  );
  expect(secondsOf(events)).toEqual([0, 10, 10, 15]);
});

it('an apply that failed is shown with who asked for it', () => {
  const [event] = eventsAt(['visitor.acted', 0]);
  const act = { by: 'ann', client: 'curl', operation: 'apply', target: 'run_1' };
  const acted = { ...event, ...act } as unknown as EventEnvelope;
  expect(formatTimeline([acted])).toEqual(['    0.000 s    1  visitor.acted ann (curl): apply · run_1']);
});
