/** Shells and the builtins that turn text into commands. */
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { forkScope, type ShellScope } from '../shell-scope.ts';
import { withLaterTemporaries } from '../later-temporary.ts';
import { normalizePath } from '../path-kind.ts';
import { staticOutput } from '../static-output.ts';
import { namesLoss } from './destructive-verbs.ts';
import { isUnknown, LIST_BREAK, PROCESS, PRODUCED, UNKNOWN, UNTRUSTED } from '../unknown-text.ts';

export const SHELLS = [
  'sh',
  'bash',
  'zsh',
  'dash',
  'ksh',
  'ash',
  'fish',
  'mksh',
  'rbash',
  'csh',
  'tcsh',
  'pdksh',
  'yash',
];

/** `sh -c TEXT`, `sh FILE`, `sh < FILE`, `… | sh`. */
export const judgeShell: Handler = (call) => {
  // `bash -n` reads a script and runs nothing of it.
  if (call.args[0] === '-n' || call.args[0] === '-nv') return hit('file_read', 'read-only-program');
  const at = call.args.findIndex((arg) => /^-[a-zA-Z]*c[a-zA-Z]*$/.test(arg) || arg === '--command');
  const before = call.args.slice(0, Math.max(at, 0));
  // `-o errexit`, `--rcfile x`: the word after the option is its value.
  const isOptions = before.every(
    (arg, index) => /^[-+]/.test(arg) || TAKES_VALUE.test(before[index - 1] ?? ''),
  );
  if (at >= 0 && isOptions) {
    const rest = call.args.slice(at + 1);
    while (/^-/.test(rest[0] ?? '')) rest.shift();
    const [text, , ...positional] = rest;
    if (text === undefined) return hit('bash_exec', 'shell');
    return runText(call, text, forkScope(call.scope, positional), 'command');
  }
  const file = call.args.find((arg) => !/^[-+]/.test(arg) || arg.startsWith(PROCESS));
  const readsStdin = call.args.some((arg) => /^-[a-z]*s[a-z]*$/.test(arg));
  if (!readsStdin && file !== undefined && file !== '-' && !DESCRIPTOR.test(file))
    return runFile(call, file, forkScope(call.scope));
  if (call.stdin !== undefined) return runText(call, call.stdin, forkScope(call.scope, []), 'stdin');
  return asksVersion(call.args) ? hit('file_read', 'read-only-program') : hit('bash_exec', 'shell');
};

const DESCRIPTOR = /^\/(dev\/(stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/;
const TAKES_VALUE = /^([-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/;

export const judgeEval: Handler = (call) => runText(call, call.args.join(' '), call.scope, 'command');

export const judgeSource: Handler = (call) => {
  const [file] = call.args;
  if (file === undefined) return hit('bash_exec', 'shell');
  if (DESCRIPTOR.test(file) && call.stdin !== undefined)
    return runText(call, call.stdin, call.scope, 'stdin');
  return runFile(call, file, call.scope);
};

export const judgeTrap: Handler = (call) => {
  const [text, ...signals] = call.args[0] === '--' ? call.args.slice(1) : call.args;
  if (text === undefined || signals.length === 0 || text.startsWith('-') || text === '')
    return hit('bash_exec', 'shell');
  call.inspector.runScript(text, withLaterTemporaries(call.scope, call.inspector.line), call.cause);
  return null;
};

export const judgeAlias: Handler = (call) => {
  for (const arg of call.args) {
    const at = arg.indexOf('=');
    if (at <= 0) continue;
    const value = arg.slice(at + 1);
    call.scope.aliases.set(arg.slice(0, at), value);
    const inner = call.inspector.collect(() =>
      call.inspector.runScript(value, forkScope(call.scope), call.cause),
    );
    // `alias rm='rm -i'` deletes nothing; an alias that hides something grave is reported at once.
    for (const found of inner) {
      if (!['file_delete', 'file_write', 'network'].includes(found.actionClass))
        call.inspector.report(found, found.cause);
    }
  }
  return hit('file_read', 'shell');
};

export const judgeCd: Handler = (call) => {
  const target = call.args.find((arg) => !arg.startsWith('-')) ?? '~';
  call.scope.cwd = isUnknown(target) ? '' : normalizePath(target, call.scope).replace(/^\.$/, '');
  return hit('file_read', 'shell');
};

export const judgeRead: Handler = (call) => {
  const names = call.args.filter((arg) => /^[A-Za-z_]\w*$/.test(arg));
  const lines = call.stdin?.trimEnd().split('\n') ?? [UNTRUSTED];
  const text = lines[0] ?? '';
  const list =
    call.name === 'read'
      ? call.args.some((arg) => /^-[a-z]*a$/.test(arg))
        ? splitFields(text, call.scope)
        : null
      : lines;
  if (list !== null) {
    call.scope.variables.set(names.at(-1) ?? 'MAPFILE', list.join(LIST_BREAK));
    return hit('file_read', 'shell');
  }
  const words = names.length > 1 ? splitFields(text, call.scope) : [text];
  names.forEach((name, index) =>
    call.scope.variables.set(name, words[index] ?? (isUnknown(text) ? text : '')),
  );
  if (names.length === 0) call.scope.variables.set('REPLY', text);
  return hit('file_read', 'shell');
};

/** `IFS=, read …` splits at the given characters. */
function splitFields(text: string, scope: ShellScope): string[] {
  const separators = scope.variables.get('IFS') ?? '';
  const marked = [...text].map((char) => (separators.includes(char) ? LIST_BREAK : char)).join('');
  return separators.trim() === '' ? text.split(/\s+/) : marked.split(LIST_BREAK);
}

/** `printf -v NAME FORMAT …` sets a variable. */
export const judgePrintf: Handler = (call) => {
  const [option, name, ...rest] = call.args;
  if (option === '-v' && name !== undefined)
    call.scope.variables.set(name, staticOutput('printf', rest, undefined));
  return hit('file_read', 'read-only-program');
};

export const judgeSet: Handler = (call) => {
  const at = call.args.indexOf('--');
  if (at >= 0) call.scope.positional = call.args.slice(at + 1);
  else if (call.args.length > 0 && !/^[-+]/.test(call.args[0] ?? '')) call.scope.positional = call.args;
  return hit('file_read', 'shell');
};

export const judgeHistory: Handler = (call) =>
  call.args.some((arg) => /^-[cdw]/.test(arg))
    ? hit('bash_destructive', 'history-erase')
    : hit('file_read', 'shell');

/**
 * Text that becomes commands. Certain text is judged as a script; text that begins with something unknown cannot be
 * judged and counts as unparsable. The output of an ordinary program is allowed for `eval` (`eval "$(direnv hook
 * bash)"`), not through a pipe.
 */
function runText(
  call: Call,
  text: string,
  scope: ShellScope,
  from: 'command' | 'stdin',
): ReturnType<Handler> {
  const start = text.trimStart();
  if (start === '') return hit('bash_exec', 'shell');
  if (text.includes(UNTRUSTED) || (from === 'stdin' && text.includes(PRODUCED))) {
    return hit('bash_destructive', from === 'stdin' ? 'pipe-to-shell' : 'eval-unknown');
  }
  if (start === PRODUCED) return hit('bash_exec', 'eval-program-output');
  if (start.startsWith(UNKNOWN)) return hit('bash_destructive', 'eval-unknown');
  call.inspector.runScript(text, scope, call.cause, from === 'command' ? call.stdin : undefined);
  return null;
}

function runFile(call: Call, file: string, scope: ShellScope): ReturnType<Handler> {
  if (file.startsWith(PROCESS)) return runText(call, file.slice(1), scope, 'command');
  const written = call.inspector.files.get(file);
  if (written !== undefined) return runText(call, written, scope, 'command');
  return namesLoss(file) ? hit('bash_destructive', 'destructive-name') : hit('bash_exec', 'shell-script');
}

function asksVersion(args: readonly string[]): boolean {
  return args.includes('--version') || args.includes('--help');
}
