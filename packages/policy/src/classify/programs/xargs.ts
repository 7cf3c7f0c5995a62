/** `xargs` and `parallel`: programs that act on their input. */
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';
import { UNTRUSTED } from '../unknown-text.ts';

const MAX_ITEMS = 48;

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
  for (const item of items.slice(0, MAX_ITEMS)) {
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
