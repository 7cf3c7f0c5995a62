/**
 * The CLI is built three times, because what a process loads is most of what a short command costs (decision 0039). Each
 * bundle gives the same answers; the choice is a guess, and a wrong one costs time only.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Commands that need nothing of the engine. */
export const LIGHT_COMMANDS: readonly string[] = ['version'];

/** Commands that a daemon carries out. Their bundle loads the engine from beside it if no daemon answers. */
export const CLIENT_COMMANDS: readonly string[] = [
  ...['run', 'continue', 'retry', 'attach', 'runs', 'top', 'show', 'logs', 'events', 'mcp', 'status'],
  ...['cancel', 'send', 'questions', 'answer', 'approvals', 'approve', 'deny'],
  ...['senses', 'workflows', 'threads', 'residents', 'schedules'],
  ...['branches', 'outputs', 'export', 'forget', 'seal', 'budget', 'du', 'gc'],
];

export type CliBundle = 'caisson' | 'caisson-client' | 'caisson-light';

export function chooseBundle(word: string, rest: readonly string[], folder = currentFolder()): CliBundle {
  if (['-V', '-h', '--version', '--help', ...LIGHT_COMMANDS].includes(word)) return 'caisson-light';
  const isAsked = CLIENT_COMMANDS.includes(word) && !ownWords(rest).includes('--no-daemon');
  return isAsked && folder !== null && hasDaemon(folder) ? 'caisson-client' : 'caisson';
}

/**
 * The same line with its command first: options that every command understands may also stand before it. Without a command
 * it stays as it is.
 */
export function withCommandFirst(words: readonly string[]): readonly string[] {
  let at = 0;
  for (let word = words[0] ?? ''; isCommonOption(word); word = words[at] ?? '') at += takesNext(word) ? 2 : 1;
  if (at === 0 || at >= words.length) return words;
  const own = ownWords(words.slice(at));
  return [...own, ...words.slice(0, at), ...words.slice(at + own.length)];
}

function isCommonOption(word: string): boolean {
  return takesNext(word) || /^(?:-o.|--(?:output|state-dir)=|--no-daemon$)/.test(word);
}

function takesNext(word: string): boolean {
  return ['-o', '--output', '--state-dir'].includes(word);
}

/** What is behind `--` belongs to another program. */
export function ownWords(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--');
  return end === -1 ? words : words.slice(0, end);
}

/** A guess, by the folder where most projects have their state. */
export function hasDaemon(folder: string): boolean {
  if (existsSync(join(folder, '.caisson/runtime/daemon.sock'))) return true;
  const above = dirname(folder);
  return above !== folder && hasDaemon(above);
}

/** The CLI reports a folder that is gone. */
function currentFolder(): string | null {
  try {
    return process.cwd();
  } catch {
    return null;
  }
}
