import type { Readable } from 'node:stream';

export type Answer = 'allow' | 'deny';

/** Answers to `ask` lines. Whoever cannot answer any more has denied. */
export interface Answers {
  wait(id: string): Promise<Answer>;
  close(): void;
}

/** Reads `{id, decision}` lines from a stream, LF only. */
export function createAnswers(source: Readable): Answers {
  const waiting = new Map<string, (answer: Answer) => void>();
  let isOpen = true;
  let rest = '';
  const close = () => {
    isOpen = false;
    for (const resolve of waiting.values()) resolve('deny');
    waiting.clear();
  };
  const hear = (line: string) => {
    const answer = parseAnswer(line);
    if (answer === null) return;
    waiting.get(answer.id)?.(answer.decision);
    waiting.delete(answer.id);
  };
  source.setEncoding('utf8');
  source.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(hear);
  });
  source.once('end', close);
  source.once('error', close);
  return {
    wait: (id) =>
      new Promise((resolve) => {
        if (isOpen) waiting.set(id, resolve);
        else resolve('deny');
      }),
    close: () => {
      close();
      source.destroy();
    },
  };
}

function parseAnswer(line: string): { id: string; decision: Answer } | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('id' in value) || !('decision' in value))
      return null;
    if (typeof value.id !== 'string') return null;
    return { id: value.id, decision: value.decision === 'allow' ? 'allow' : 'deny' };
  } catch {
    return null; // not an answer; the ask stays held
  }
}
