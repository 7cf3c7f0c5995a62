import { createInterface } from 'node:readline/promises';
import type { Output } from './output.ts';
import { printable } from './printable.ts';

/** Whether there is a person who can answer. */
export function canAsk(output: Output, input: NodeJS.ReadStream = process.stdin): boolean {
  return output.isInteractive && output.format === 'human' && input.isTTY;
}

/** What the person at the terminal types; empty at the end of input. */
export async function askQuestion(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const gone = new AbortController();
  lines.once('close', () => gone.abort());
  try {
    return (await lines.question(printable(question), { signal: gone.signal })).trim();
  } catch {
    return '';
  } finally {
    lines.close();
  }
}

export async function askYes(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await askQuestion(`${question} [y/N] `));
}
