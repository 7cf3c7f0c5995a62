/** Programs that run the command given as their further words. */
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { dumpsSecrets } from './memory-dumps.ts';
import { opensMachine } from './tunnels.ts';
import { forkScope } from '../shell-scope.ts';
import { isUnknown } from '../unknown-text.ts';
import { hitOfWrites } from '../write-hit.ts';
import { runSshSetting } from './network.ts';
import { WRAPPER_FORMS, type WrapperForm } from './wrapper-forms.ts';

/** The form of a program as a wrapper, if these words use it as one. */
export function findWrapper(name: string): Handler | null {
  const form = Object.hasOwn(WRAPPER_FORMS, name) ? WRAPPER_FORMS[name] : undefined;
  return form === undefined || form.verbs !== undefined ? null : (call) => unwrap(call, form, call.args);
}

/** For programs that are wrappers only with a certain verb; null when the verb is another one. */
export function unwrapVerb(call: Call): 'unwrapped' | null {
  const form = Object.hasOwn(WRAPPER_FORMS, call.name) ? WRAPPER_FORMS[call.name] : undefined;
  if (form?.verbs === undefined) return null;
  const at = call.args.findIndex((arg) => !arg.startsWith('-'));
  if (at < 0 || !form.verbs.includes(call.args[at] ?? '')) return null;
  const found = unwrap(call, form, call.args.slice(at + 1));
  if (found !== null) call.inspector.report(found, call.cause);
  return 'unwrapped';
}

function unwrap(call: Call, form: WrapperForm, words: readonly string[]): ReturnType<Handler> {
  // `command -v X` only looks.
  if (call.name === 'command' && /^-[pvV]*[vV]$/.test(words[0] ?? ''))
    return hit('file_read', 'read-only-program');
  if (IS_DEBUGGER.test(call.name) && DUMPS_CORE.test(words.join(' ')) && dumpsSecrets(call))
    return hit('bash_destructive', 'dumps-secrets');
  const scope = forkScope(call.scope);
  // On another machine the start folder is a home, and its files are not this project's.
  if (/^(ssh|mosh)$/.test(call.name)) scope.cwd = '~';
  const { rest, hasRun } = runOptions(call, form, words, scope);
  if (isBareShell(call, form, rest)) return hit('system_modify', 'root-shell');
  if (isSystemInstall(call.name, rest)) return hit('system_modify', 'system-install');
  if (rest.length > 0) {
    if (form.joins === true) runJoined(call, rest, scope);
    else call.inspector.runArgv(rest, scope, call.cause, call.stdin);
  }
  return judgeWrapper(call, form, words, scope, hasRun || rest.length > 0);
}

function judgeWrapper(
  call: Call,
  form: WrapperForm,
  words: readonly string[],
  scope: Call['scope'],
  hasRun: boolean,
): ReturnType<Handler> {
  const isFed =
    /^(ssh|newgrp)$/.test(call.name) && !hasRun && call.stdin !== undefined && !isUnknown(call.stdin);
  if (isFed) runText(call, call.stdin ?? '', scope);
  if (call.name === 'ssh' && opensMachine('ssh', call.args)) return hit('bash_destructive', 'opens-machine');
  if (call.name === 'ssh' || call.name === 'mosh') return hit('network', 'network');
  if (hasRun || isFed) return null;
  const isQuestion = words.some((word) => /^-(l|v|k|K|V|h|-list|-version|-help|-validate)$/.test(word));
  return form.opensShell === true && !isQuestion
    ? hit('system_modify', 'root-shell')
    : hit('bash_exec', 'wrapper');
}

/** Takes the wrapper's own words away, and runs those that hold a command. */
function runOptions(
  call: Call,
  form: WrapperForm,
  words: readonly string[],
  scope: Call['scope'],
): { rest: string[]; hasRun: boolean } {
  const rest = [...words];
  let hasRun = false;
  let skip = form.skip ?? 0;
  while (rest.length > 0) {
    const word = rest[0] ?? '';
    if (word === '--') {
      rest.shift();
      if (skip === 0) break;
    } else if (word.startsWith('-') && word !== '-') {
      rest.shift();
      const text = takeOption(call, form, word, rest);
      if (text !== null) runText(call, text, scope);
      hasRun ||= text !== null;
    } else if (form.joins !== true && /^[A-Za-z_]\w*=/.test(word)) {
      rest.shift();
    } else if (skip > 0) {
      rest.shift();
      skip -= 1;
    } else break;
  }
  return { rest, hasRun };
}

/** Takes the value of an option away with it; the command that it holds, if it holds one. */
function takeOption(call: Call, form: WrapperForm, word: string, rest: string[]): string | null {
  const [option = word, inline] = splitInline(word);
  const last = form.wholeWords === true ? word : lastOfCluster(word);
  if (form.shellText?.includes(option)) return inline ?? rest.shift() ?? '';
  if (form.wholeWords !== true && form.shellText?.some((name) => isGluedValue(name, word)))
    return word.slice(2);
  if (form.shellText?.includes(last)) return rest.shift() ?? '';
  if (form.writes?.includes(option)) reportWrite(call, inline ?? rest.shift() ?? '');
  else if (call.name === 'ssh' && option === '-o') runSshSetting(call, rest.shift() ?? '');
  else if (call.name === 'ssh' && /^-o./.test(word)) runSshSetting(call, word.slice(2));
  else if (inline === undefined && form.valued?.includes(last)) rest.shift();
  return null;
}

function runText(call: Call, text: string, scope: Call['scope']): void {
  // Debuggers take `!cmd` and `shell cmd`.
  const bare = IS_DEBUGGER.test(call.name) ? text.replace(/^\s*(?:!|(?:platform )?shell\b)\s*/, '') : text;
  call.inspector.runScript(bare, scope, call.cause, call.stdin);
}

function isBareShell(call: Call, form: WrapperForm, rest: readonly string[]): boolean {
  if (form.opensShell !== true || rest.length !== 1 || call.stdin !== undefined) return false;
  return /(^|\/)(ba|z|da|k|fi)?sh$/.test(rest[0] ?? '');
}

const IS_DEBUGGER = /^(gdb|lldb)$/;
const DUMPS_CORE = /\b(generate-core-file|gcore|dump (binary )?memory|process save-core)\b/;

function reportWrite(call: Call, path: string): void {
  const found = hitOfWrites([path], call.scope);
  if (found.actionClass !== 'file_write') call.inspector.report(found, call.cause);
}

function runJoined(call: Call, rest: readonly string[], scope: Call['scope']): void {
  const isList = call.name === 'hyperfine' || call.name === 'concurrently';
  const texts = isList ? rest : [rest.join(' ')];
  for (const text of texts) call.inspector.runScript(text, scope, call.cause, call.stdin);
}

/** `-qc` ends in the option that takes a value. */
function lastOfCluster(word: string): string {
  return /^-[a-zA-Z]+$/.test(word) ? `-${word.at(-1)}` : word;
}

/** A package manager run as root installs for the whole machine. */
function isSystemInstall(name: string, rest: readonly string[]): boolean {
  if (!/^(sudo|doas|pkexec)$/.test(name)) return false;
  if (/^\.{0,2}\/?(?:.*\/)?svc(\.sh)?$/.test(rest[0] ?? '')) return /^(install|start)$/.test(rest[1] ?? '');
  const isManager = /^(pip[\d.]*|npm|yarn|pnpm|gem|make|cargo|cpan|cpanm|luarocks|go|snap)$/.test(
    (rest[0] ?? '').replace(/.*\//, ''),
  );
  return isManager && rest.some((word) => /^(install|i|uninstall|remove|add|update)$/.test(word));
}

/** `su [-] [user] [-c TEXT]`: with a text it runs that, without one it opens a shell. */
export const judgeSu: Handler = (call) => {
  const at = call.args.findIndex((arg) => arg === '-c' || arg === '--command');
  const text = at >= 0 ? call.args[at + 1] : call.args.find((arg) => arg.startsWith('--command='))?.slice(10);
  if (text === undefined) return hit('system_modify', 'root-shell');
  call.inspector.runScript(text, forkScope(call.scope), call.cause);
  return hit('bash_exec', 'wrapper');
};

function splitInline(word: string): [string, string?] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function isGluedValue(option: string, word: string): boolean {
  return /^-[a-zA-Z]$/.test(option) && word.startsWith(option) && word.length > 2;
}
