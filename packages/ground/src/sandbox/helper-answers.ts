// What a helper answers: lines with a kind and numbers. Some come without a question, and wait here for theirs.
import type { ChildProcess } from 'node:child_process';

export interface Answers {
  /** The numbers of the next answer of this kind; `null` when none comes any more. Keeps our process alive meanwhile. */
  next(kind: string): Promise<readonly number[] | null>;
  haveEnded(): boolean;
  /** Whether there was one. */
  haveBegun(): boolean;
}

interface Question {
  readonly kind: string;
  readonly resolve: (answer: readonly number[] | null) => void;
}

/** Reads the standard output of a child, which does not keep our process alive otherwise. */
export function readAnswers(child: ChildProcess): Answers {
  const answers: { readonly kind: string; readonly numbers: readonly number[] }[] = [];
  const questions: Question[] = [];
  let [hasBegun, hasEnded] = [false, false];
  let text = '';
  const settle = (): void => {
    for (const question of questions.splice(0)) {
      const index = answers.findIndex(({ kind }) => kind === question.kind);
      if (index >= 0) question.resolve(answers.splice(index, 1)[0]?.numbers ?? null);
      else if (hasEnded) question.resolve(null);
      else questions.push(question);
    }
    keepAlive(child, questions.length > 0);
  };
  const end = (): void => {
    hasEnded = true;
    settle();
  };
  child.on('error', end).on('close', end);
  child.stdin?.on('error', () => undefined); // it was killed; `close` reports it
  child.stdout?.on('data', (chunk: Buffer) => {
    const lines = (text + chunk.toString('latin1')).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      hasBegun = true;
      const [kind = '', ...numbers] = line.split(' ');
      answers.push({ kind, numbers: numbers.map(Number) });
    }
    settle();
  });
  settle();
  return {
    next: (kind) =>
      new Promise((resolve) => {
        questions.push({ kind, resolve });
        settle();
      }),
    haveEnded: () => hasEnded,
    haveBegun: () => hasBegun,
  };
}

/** Whether the process and its streams keep ours alive. */
export function keepAlive(child: ChildProcess, isWanted: boolean): void {
  const handles = [child, child.stdin, child.stdout] as unknown as ({ ref(): void; unref(): void } | null)[];
  for (const handle of handles)
    if (isWanted) handle?.ref();
    else handle?.unref();
}
