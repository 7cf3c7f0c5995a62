/** The built CLI on a pseudo-terminal, as a person has it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT, type Project } from './project.ts';

const CLI = join(ROOT, 'packages/cli/bin/caisson.js');

export const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export interface Terminal {
  screen(): string;
  type(words: string): void;
  /** The terminal is gone, as after a dropped connection. */
  close(): void;
  /** The exit code, once the program has ended and everything it printed was read. */
  readonly ended: Promise<number>;
}

export function openTerminal(
  project: Project,
  args: readonly string[],
  { before = '', behind = '' } = {},
): Terminal {
  const line = `${before}${[process.execPath, CLI, ...args].map(quote).join(' ')}${behind}`;
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    cwd: project.root,
    env: { ...project.env, SHELL: '/bin/sh', TERM: 'xterm', COLUMNS: '80', CI: '' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return {
    screen: () => text,
    type: (words) => void child.stdin.write(words),
    close: () => void child.kill('SIGKILL'),
    ended: once(child, 'close').then(([code]) => code as number),
  };
}
