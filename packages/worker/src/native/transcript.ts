// A conversation is its messages in one file, rewritten after every turn, so that the last complete turn survives every
// ending.

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomicSync } from '@caisson/ground';
import type { AgentMessage } from '@earendil-works/pi-agent-core';

const SESSION_ID = /^[0-9a-f-]{36}$/;

export interface Transcript {
  readonly sessionId: string;
  /** The messages of the conversation before this start. */
  readonly before: readonly AgentMessage[];
  save(messages: readonly AgentMessage[]): void;
}

/** Opens the conversation to resume, or a new one. An unreadable one is an error: a resumed agent needs it. */
export function openTranscript(
  folder: string | undefined,
  resume: string | undefined,
  newId: string,
): Transcript {
  const sessionId = resume ?? newId;
  if (!SESSION_ID.test(sessionId)) throw new Error(`"${sessionId}" is not a session id`);
  if (folder === undefined) return { sessionId, before: [], save: () => undefined };
  const file = join(folder, `${sessionId}.json`);
  return {
    sessionId,
    before: resume === undefined ? [] : readMessages(file),
    save: (messages) => {
      mkdirSync(folder, { recursive: true });
      writeFileAtomicSync(file, JSON.stringify(messages));
    },
  };
}

function readMessages(file: string): readonly AgentMessage[] {
  const messages: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (!Array.isArray(messages)) throw new Error(`${file} is not a session`);
  return messages;
}
