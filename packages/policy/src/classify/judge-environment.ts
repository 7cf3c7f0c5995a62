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

/** The settings among the words of `export`, `declare` and the like. */
export function exportsOf(argv: readonly string[]): [string, string][] {
  if (!/^(export|declare|typeset|readonly|local)$/.test(argv[0] ?? '')) return [];
  return argv.slice(1).flatMap((word): [string, string][] => {
    const at = word.indexOf('=');
    return at > 0 ? [[word.slice(0, at), word.slice(at + 1)]] : [];
  });
}

/** A library of unknown origin that every program started from here would load. */
export function injectsLibrary(name: string, value: string): boolean {
  return (
    /^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES)$/.test(name) &&
    value !== '' &&
    !/^(\/usr)?(\/local)?\/lib|^lib[\w.-]+$|jemalloc|tcmalloc|mimalloc|asan|tsan|faketime|stdbuf/.test(value)
  );
}
