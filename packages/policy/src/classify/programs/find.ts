/** `find`, `fd` and `xargs`: programs that act on what they find or are given. */
import { hitOfDelete } from '../delete-hit.ts';
import { hit, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { kindOfPath } from '../path-kind.ts';
import { forkScope } from '../shell-scope.ts';
import { hitOfWrite } from '../write-hit.ts';
import { UNKNOWN, UNTRUSTED } from '../unknown-text.ts';

const EXEC = new Set(['-exec', '-execdir', '-ok', '-okdir']);
/** A file of any name; the leading dot says that it is a file and nothing else. */
const ANY_FILE = `./${UNKNOWN}`;
const NAME_TEST = new Set(['-name', '-iname', '-path', '-wholename', '-regex']);
/** Patterns of files that tools make again or that editors leave behind. */
const LITTER =
  /^\*?\.(pyc|pyo|o|obj|class|log|tmp|temp|bak|orig|rej|swp|swo|cache|map|tsbuildinfo|gcda|gcno|DS_Store)$|^\*~$|^\.DS_Store$|^\.#\*$/;

export const judgeFind: Handler = (call) => {
  const { args } = call;
  const starts = args.slice(0, firstTest(args)).filter((arg) => !/^-[HLP]$/.test(arg));
  let acts = false;
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? '';
    if (word === '-delete') {
      call.inspector.report(deleteFound(call, starts, args), call.cause);
      acts = true;
    } else if (EXEC.has(word)) {
      const end = args.findIndex((arg, at) => at > index && (arg === ';' || arg === '+' || arg === '\\;'));
      const command = args.slice(index + 1, end < 0 ? undefined : end);
      runOnFound(call, command, starts, args);
      acts = true;
    } else if (/^-f(print|printf|ls|print0)$/.test(word)) {
      const written = hitOfWrite(args[index + 1] ?? '', call.scope);
      if (written !== null) call.inspector.report(written, call.cause);
    }
  }
  return acts ? null : hit('file_read', 'read-only-program');
};

/** `{}` stands for each file found: judged as the pattern it must match, else as the start folder. */
function runOnFound(
  call: Call,
  command: readonly string[],
  starts: readonly string[],
  args: readonly string[],
): void {
  const found = describeFound(starts, args);
  const words = command.map((word) => word.replaceAll('{}', found));
  const deletes = /^(rm|unlink|shred|rmdir)$/.test((command[0] ?? '').replace(/.*\//, ''));
  if (deletes && command.some((word) => /^-\w*[rR]/.test(word)) && found === ANY_FILE) {
    call.inspector.report(hit('bash_destructive', 'find-delete'), call.cause);
    return;
  }
  if (deletes && found === ANY_FILE) {
    call.inspector.report(deleteFound(call, starts, args), call.cause);
    return;
  }
  call.inspector.runArgv(words, forkScope(call.scope), call.cause, call.stdin);
}

function describeFound(starts: readonly string[], args: readonly string[]): string {
  const patterns = namePatterns(args);
  if (patterns.length === 0)
    return starts.length === 1 && starts[0] !== '.' ? (starts[0] ?? ANY_FILE) : ANY_FILE;
  const name = patterns[0] ?? '';
  if (starts.some((start) => start.startsWith('/') || start.startsWith('~') || start.startsWith('..'))) {
    return `${starts[0]}/${name}`;
  }
  return name;
}

function deleteFound(call: Call, starts: readonly string[], args: readonly string[]): Hit {
  const patterns = namePatterns(args);
  const folders = starts.length === 0 ? ['.'] : starts;
  const grave = folders
    .map((folder) => hitOfDelete(folder, true, call.scope))
    .find((found) => found.actionClass === 'system_modify' || found.rule === 'git-data');
  if (grave !== undefined) return grave;
  const isLocal = folders.every(
    (folder) => !['root', 'home', 'outside', 'unknown'].includes(kindOfPath(folder, call.scope)),
  );
  const isLitter =
    patterns.length > 0 &&
    patterns.every((pattern) => LITTER.test(pattern) || kindOfPath(pattern, call.scope) === 'regenerable');
  if (
    isLocal &&
    (isLitter || folders.every((folder) => ['temp', 'regenerable'].includes(kindOfPath(folder, call.scope))))
  ) {
    return hit('file_delete', 'find-delete-litter');
  }
  if (isLocal && args.includes('-empty')) return hit('file_delete', 'find-delete-empty');
  return hit('bash_destructive', 'find-delete');
}

function namePatterns(args: readonly string[]): string[] {
  return args.flatMap((arg, index) =>
    NAME_TEST.has(args[index - 1] ?? '') && args[index - 2] !== '!' && args[index - 2] !== '-not'
      ? [arg]
      : [],
  );
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
  const words = command.some((word) => word.includes('{')) ? command : [...command, UNTRUSTED];
  call.inspector.runArgv(
    words.map((word) => word.replace(/\{[./]*\}/g, UNTRUSTED)),
    forkScope(call.scope),
    call.cause,
  );
  return null;
};

const XARGS_VALUED = new Set([
  '-n',
  '-P',
  '-L',
  '-d',
  '-E',
  '-s',
  '-a',
  '--max-args',
  '--max-procs',
  '--delimiter',
  '--arg-file',
]);

export const judgeXargs: Handler = (call) => {
  const words = [...call.args];
  let token: string | null = null;
  while (words.length > 0 && (words[0] ?? '').startsWith('-')) {
    const option = words.shift() ?? '';
    if (option === '-I' || option === '-J' || option === '--replace') token = words.shift() ?? '{}';
    else if (/^-[Ii]./.test(option)) token = option.slice(2);
    else if (option === '-i' || option.startsWith('--replace=')) token = option.slice(10) || '{}';
    else if (XARGS_VALUED.has(option)) words.shift();
  }
  const given = givenItems(call);
  if (words.length === 0) return hit('file_read', 'read-only-program');
  const argv =
    token === null ? [...words, ...given] : words.map((word) => word.replaceAll(token, given.join(' ')));
  call.inspector.runArgv(argv, forkScope(call.scope), call.cause);
  return null;
};

/** `parallel CMD ::: items`, where CMD is given to a shell. */
export const judgeParallel: Handler = (call) => {
  const at = call.args.findIndex((arg) => /^:::+\+?$/.test(arg));
  const items = at < 0 ? givenItems(call) : call.args.slice(at + 1);
  const words = (at < 0 ? call.args : call.args.slice(0, at)).filter(
    (word, index, all) => !isParallelOption(word, all[index - 1]),
  );
  const text = words.join(' ');
  for (const item of items.slice(0, 8)) {
    const filled = /\{[^}\s]*\}/.test(text) ? text.replace(/\{[^}\s]*\}/g, item) : `${text} ${item}`;
    call.inspector.runScript(filled, forkScope(call.scope), call.cause);
  }
  return items.length === 0 ? hit('bash_exec', 'wrapper') : null;
};

function isParallelOption(word: string, before: string | undefined): boolean {
  return /^-/.test(word) || /^(-j|-P|--jobs|-N|--delay|-a)$/.test(before ?? '');
}

function givenItems(call: Call): string[] {
  if (call.stdin === undefined) return [UNTRUSTED];
  const items = call.stdin.trim().split(/\s+/);
  return items.length === 0 || items[0] === '' ? [UNTRUSTED] : items;
}
