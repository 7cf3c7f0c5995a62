import { readFileSync } from 'node:fs';
import { UsageError } from '../usage-error.ts';

/** A task as it is typed: its text, `@FILE`, or `-` for stdin. */
export function readTask(word: string | undefined): string | undefined {
  if (word === '-') return readFileSync(0, 'utf8');
  if (word?.startsWith('@') === true) {
    try {
      return readFileSync(word.slice(1), 'utf8');
    } catch (error) {
      throw new UsageError(`the task file ${word.slice(1)} cannot be read: ${(error as Error).message}`);
    }
  }
  return word;
}
