/** `find` and `fd`: programs that act on what they find. */
import { hitOfDelete } from '../delete-hit.ts';
import { hit, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { isMadeAgain } from '../made-again.ts';
import { kindOfPath, normalizePath } from '../path-kind.ts';
import { forkScope, type ShellScope } from '../shell-scope.ts';
import { hitOfWrite } from '../write-hit.ts';
import { outputOfSearch } from '../search-output.ts';
import { isUnknown, UNKNOWN, UNTRUSTED } from '../unknown-text.ts';
import { isGuarded, namePatterns } from './find-guard.ts';

const EXEC = new Set(['-exec', '-execdir', '-ok', '-okdir']);
/** A file of any name; the leading dot marks it as a file and nothing else. */
const ANY_FILE = `./${UNKNOWN}`;
/** Patterns of files that tools make again or that editors leave behind. */
const LITTER =
  /^\*?\.(pyc|pyo|py\[co\w{0,2}\]|o|obj|\[oa\w{0,2}\]|class|tmp|temp|orig|rej|swp|swo|sw\[\w-+\]|cache|tsbuildinfo|gcda|gcno|DS_Store)$|^\*~$|^\.DS_Store$|^\._\*$|^\.#\*$|^Thumbs\.db$/;
/** Files that no tool makes again, and that hardly anyone needs. */
const LEFT_OVER = /^[\w*.-]*\.(log|bak|map|old|dump|pid)(\.\*)?$/;

export const judgeFind: Handler = (call) => {
  const { args } = call;
  const starts = startsOf(args);
  let acts = false;
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? '';
    if (word === '-delete') {
      call.inspector.report(deleteFound(call, starts, index), call.cause);
      acts = true;
    } else if (EXEC.has(word)) {
      const end = args.findIndex((arg, at) => at > index && (arg === ';' || arg === '+' || arg === '\\;'));
      runOnFound(call, args.slice(index + 1, end < 0 ? undefined : end), starts, index);
      acts = true;
    } else if (/^-f(print|printf|ls|print0)$/.test(word)) {
      const written = hitOfWrite(args[index + 1] ?? '', call.scope);
      if (written !== null) call.inspector.report(written, call.cause);
    }
  }
  return acts ? null : hit('file_read', 'read-only-program');
};

function startsOf(args: readonly string[]): string[] {
  return args.slice(0, firstTest(args)).filter((arg) => !/^-[HLP]$/.test(arg));
}

/** `{}` stands for each file found: judged as the pattern it must match, else as the start folder. */
function runOnFound(call: Call, command: readonly string[], starts: readonly string[], at: number): void {
  const isEdited = /^(g?sed|perl)$/.test(command[0] ?? '') && command.some((word) => /^-\w*i/.test(word));
  const everywhere = isEdited ? outputOfSearch('find', starts, call.scope) : null;
  const found = everywhere ?? describeFound(call, starts, at);
  const words = command.map((word) => word.replaceAll('{}', found));
  const deletes = /^(rm|unlink|shred|rmdir)$/.test((command[0] ?? '').replace(/.*\//, ''));
  const isOnlyFound = command.slice(1).every((word) => word === '{}' || word.startsWith('-'));
  const judged = deletes && isOnlyFound && command[0] !== 'shred' ? deleteFound(call, starts, at) : null;
  if (judged?.rule === 'find-delete-litter') {
    call.inspector.report(judged, call.cause);
    return;
  }
  if (deletes && command.some((word) => /^-\w*[rR]/.test(word)) && found === ANY_FILE) {
    call.inspector.report(hit('bash_destructive', 'find-delete'), call.cause);
    return;
  }
  if (deletes && found === ANY_FILE) {
    call.inspector.report(deleteFound(call, starts, at), call.cause);
    return;
  }
  call.inspector.runArgv(words, forkScope(call.scope), call.cause, call.stdin);
}

/** One name that represents everything that is found: a harmless one only where every file must have such a name. */
function describeFound(call: Call, starts: readonly string[], at: number): string {
  const { args, scope } = call;
  const patterns = namePatterns(args);
  if (patterns.length === 0)
    return starts.length === 1 && starts[0] !== '.' ? (starts[0] ?? ANY_FILE) : ANY_FILE;
  const isLitter = (pattern: string): boolean => isLitterName(pattern, scope);
  const name = isGuarded(args, at, isLitter)
    ? patterns.find(isLitter)
    : patterns.find((one) => !isLitter(one));
  if (name === undefined) return ANY_FILE;
  if (starts.some((start) => start.startsWith('/') || start.startsWith('~') || start.startsWith('..'))) {
    return `${starts[0]}/${name}`;
  }
  return name;
}

/** Classifies a `-delete`, or a command that deletes, at this word. */
function deleteFound(call: Call, starts: readonly string[], at: number): Hit {
  const { args, scope } = call;
  const folders = starts.length === 0 ? ['.'] : starts;
  const grave = folders
    .map((folder) => hitOfDelete(folder, true, scope))
    .find((found) => found.actionClass === 'system_modify' || found.rule === 'git-data');
  if (grave !== undefined) return grave;
  const isLitter = isGuarded(
    args,
    at,
    (pattern, test) => isLitterName(pattern, scope) && !(test === '-regex' && pattern.includes('|')),
  );
  if (!args.some((arg) => FOLLOWS.has(arg)) && folders.every((folder) => isOwn(folder, isLitter, call, at)))
    return hit('bash_exec', 'find-delete-litter');
  const isLocal = folders.every(
    (folder) => !['root', 'home', 'outside', 'unknown'].includes(kindOfPath(folder, scope)),
  );
  const isLeftOver = isGuarded(args, at, (pattern) => LEFT_OVER.test(pattern)) || isLitter;
  if (
    isLocal &&
    (isLeftOver || folders.every((folder) => ['temp', 'regenerable'].includes(kindOfPath(folder, scope))))
  )
    return hit('file_delete', 'find-delete-left-over');
  if (isLocal && args.includes('-empty')) return hit('file_delete', 'find-delete-empty');
  return hit('bash_destructive', 'find-delete');
}

/** Options with which `find` follows links. */
const FOLLOWS = new Set(['-L', '-follow']);

/** A folder in which this deletion removes only what is made again. */
function isOwn(folder: string, isLitter: boolean, { args, scope }: Call, at: number): boolean {
  if (isMadeAgain(folder, scope)) return true;
  const full = normalizePath(folder, scope);
  if (/^(\/var)?\/tmp$/.test(full))
    return isGuarded(
      args,
      at,
      (pattern, test) => /name$/.test(test) && isMadeAgain(`${full}/${pattern}`, scope),
    );
  const isHere = kindOfPath(folder, scope) === 'workspace' || !/^[/~.]{1,2}/.test(full) || /^\.\w/.test(full);
  return isLitter && isHere && kindOfPath(folder, scope) !== 'unknown';
}

function isLitterName(pattern: string, scope: ShellScope): boolean {
  return LITTER.test(pattern) || isMadeAgain(pattern, scope);
}

/** What `find` prints, where every name of it is known to be one that a tool makes again. */
export function outputOfFind(args: readonly string[], scope: ShellScope): string | null {
  if (args.some((arg) => /^-(exec|ok|printf|fprint|ls|delete)/.test(arg) || FOLLOWS.has(arg))) return null;
  const starts = startsOf(args);
  const isHere = starts.every((start) => !/^[/~]|\.\.|^-/.test(start) && !isUnknown(start));
  const accepts = (pattern: string): boolean => isMadeAgain(pattern, scope);
  const end = args.at(-1)?.startsWith('-print') === true ? args.length - 1 : args.length;
  if (!isHere || args.includes('-o') || !isGuarded(args, end, accepts)) return null;
  return `./${namePatterns(args).find(accepts) ?? ''}`;
}

function firstTest(args: readonly string[]): number {
  const at = args.findIndex(
    (arg) => (arg.startsWith('-') && !/^-[HLP]$/.test(arg)) || arg === '(' || arg === '!',
  );
  return at < 0 ? args.length : at;
}

/** `fd PATTERN -x cmd`. */
export const judgeFd: Handler = (call) => {
  const at = call.args.findIndex((arg) => ['-x', '-X', '--exec', '--exec-batch'].includes(arg));
  if (at < 0) return hit('file_read', 'read-only-program');
  const command = call.args.slice(at + 1).filter((word) => word !== ';');
  const found = outputOfSearch('fd', call.args.slice(0, at), call.scope) ?? UNTRUSTED;
  const words = command.some((word) => word.includes('{')) ? command : [...command, found];
  call.inspector.runArgv(
    words.map((word) => word.replace(/\{[./]*\}/g, found)),
    forkScope(call.scope),
    call.cause,
  );
  return null;
};
