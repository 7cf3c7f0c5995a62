import { CaissonError } from '@caisson/protocol';
import type { Engine } from '../engine.ts';

/** The message cannot reach the run. */
export class MessageUndeliverableError extends CaissonError {
  readonly code = 'MESSAGE_UNDELIVERABLE';
}

/** Sends a message to the host that drives the run; resolves with the message's id. */
export async function sendMessage(engine: Engine, runId: string, body: string): Promise<string> {
  const row = engine.ledger.run(runId);
  if (row === null || row.ending !== undefined) {
    throw new MessageUndeliverableError(`${runId} has ended and receives no messages`, {
      remedy: 'Continue the work in a new run: caisson retry, or caisson answer.',
    });
  }
  const own = engine.dispatcher.active(runId);
  if (own !== null) return own.send(body);
  const reply = await engine.hosts.order(row.host, { kind: 'send', runId, body });
  if (!reply.ok) throw new MessageUndeliverableError(`${runId} did not accept the message: ${reply.message}`);
  return String(reply.value);
}
