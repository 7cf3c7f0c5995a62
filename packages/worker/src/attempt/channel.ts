import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { encodeNdjson } from '@caisson/protocol';
import type { AttemptContext } from './attempt-context.ts';
import { appendInMailbox } from './mailbox-file.ts';
import { fail } from './step-failure.ts';

/** Steps 10 and 12: messages to the running agent appear in its mailbox, each with a receipt to the host. */
export function openChannel(context: AttemptContext): () => void {
  const { mailbox } = context.job.paths;
  makeFolder(mailbox);
  let isOpen = true;
  const received = new Set<string>();
  context.control.onMessage(({ id, body }) => {
    if (!isOpen || received.has(id)) return; // a host that adopts us repeats what has no receipt
    try {
      appendInMailbox(
        mailbox,
        'channel',
        'inbox.jsonl',
        encodeNdjson({ id, at: new Date().toISOString(), body }),
      );
      received.add(id);
      context.writer.write({ kind: 'channel.received', id });
    } catch (error) {
      const message = `message ${id} did not reach the mailbox: ${(error as Error).message}`;
      context.writer.write({ kind: 'warning', source: 'channel', message });
    }
  });
  return () => {
    isOpen = false;
  };
}

/** A setup script ran before: something it left under that name would block every message. */
function makeFolder(mailbox: string): void {
  try {
    mkdirSync(join(mailbox, 'channel'), { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' && code !== 'ENOTDIR' && code !== 'ENOENT') throw error;
    throw fail(
      'worker-failed',
      `the folder .caisson/channel, where messages to the agent appear, cannot be made: ${message}. A setup script left something else under that name; let it use another.`,
    );
  }
}
