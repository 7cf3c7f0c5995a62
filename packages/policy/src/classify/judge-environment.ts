import { PROCESS } from './unknown-text.ts';

/** Variables whose value a program runs as a command. */
const RUN_AS_COMMAND = new Set([
  'GIT_SSH_COMMAND',
  'GIT_EXTERNAL_DIFF',
  'GIT_PAGER',
  'GIT_EDITOR',
  'GIT_SEQUENCE_EDITOR',
  'GIT_ASKPASS',
  'PROMPT_COMMAND',
  'PAGER',
  'EDITOR',
  'VISUAL',
  'LESSOPEN',
  'MANPAGER',
  'SSH_ASKPASS',
]);

/** The command texts that `NAME=value program` would make the program run. */
export function judgeEnvironment(assigned: readonly (readonly [string, string])[]): string[] {
  return assigned
    .filter(([name, value]) => isRun(name, value))
    .map(([, value]) => value.replace(/^[|!\uE003]/, ''));
}

function isRun(name: string, value: string): boolean {
  if (name === 'BASH_ENV' || name === 'ENV') return value.startsWith(PROCESS);
  return RUN_AS_COMMAND.has(name) && /\s/.test(value.trim());
}
