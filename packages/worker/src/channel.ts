import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { encodeNdjson } from '@caisson/protocol';
import type { AttemptContext } from './attempt-context.ts';

/** Steps 10 and 12: messages to the running agent appear in its mailbox, each with a receipt to the host. */
export function openChannel(context: AttemptContext): () => void {
  const folder = join(context.job.paths.mailbox, 'channel');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const inbox = join(folder, 'inbox.jsonl');
  let isOpen = true;
  context.control.onMessage(({ id, body }) => {
    if (!isOpen) return;
    appendFileSync(inbox, encodeNdjson({ id, at: new Date().toISOString(), body }));
    context.voice.say({ kind: 'channel.received', id });
  });
  return () => {
    isOpen = false;
  };
}
