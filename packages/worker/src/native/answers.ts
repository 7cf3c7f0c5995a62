import type { Readable } from 'node:stream';

export type Answer = 'allow' | 'deny';

/** Answers to `ask` lines. A closed stream counts as a denial. */
export interface Answers {
  wait(id: string): Promise<Answer>;
  /** Messages from a person since the last read. */
  takeMessages(): readonly string[];
  close(): void;
}

/** Reads `{id, decision}` and `{message}` lines from a stream, LF only. */
export function createAnswers(source: Readable): Answers {
  const waiting = new Map<string, (answer: Answer) => void>();
  let messages: string[] = [];
  let isOpen = true;
  let rest = '';
  const close = () => {
    isOpen = false;
    for (const resolve of waiting.values()) resolve('deny');
    waiting.clear();
  };
  const receive = (line: string) => {
    const answer = parseAnswer(line);
    if (answer === null) return;
    if ('message' in answer) {
      messages.push(answer.message);
      return;
    }
    waiting.get(answer.id)?.(answer.decision);
    waiting.delete(answer.id);
  };
  source.setEncoding('utf8');
  source.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(receive);
  });
  source.once('end', close);
  source.once('error', close);
  return {
    wait: (id) =>
      new Promise((resolve) => {
        if (isOpen) waiting.set(id, resolve);
        else resolve('deny');
      }),
    takeMessages: () => {
      const taken = messages;
      messages = [];
      return taken;
    },
    close: () => {
      close();
      source.destroy();
    },
  };
}

function parseAnswer(line: string): { id: string; decision: Answer } | { message: string } | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return null;
    if ('message' in value && typeof value.message === 'string') return { message: value.message };
    if (!('id' in value) || !('decision' in value)) return null;
    if (typeof value.id !== 'string') return null;
    return { id: value.id, decision: value.decision === 'allow' ? 'allow' : 'deny' };
  } catch {
    return null; // not an answer; the call still waits
  }
}
