/** What was asked for, out of the run's acceptance. */
import type { EnvelopeOf, EventEnvelope } from '@caisson/protocol';

export type Accepted = EnvelopeOf<'dispatch.accepted'>;

export function findAccepted(events: readonly EventEnvelope[]): Accepted | null {
  const found = events.find((event) => event.type === 'dispatch.accepted');
  return found?.type === 'dispatch.accepted' ? found : null;
}
