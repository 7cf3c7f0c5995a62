/** Finds the program that a list of words runs and asks its handler. */
import { namesCredential } from '@caisson/protocol';
import { hit, worstOf, type Hit } from './finding.ts';
import type { Call, Inspector, Stdin } from './inspector.ts';
import { rememberGenerated } from './made-again.ts';
import { findHandler, programNames } from './program-table.ts';
import { judgeInstall } from './programs/insecure-install.ts';
import { outputOfFind } from './programs/find.ts';
import { clearsSomething, isReadOnlyProgram } from './programs/read-only.ts';
import { judgeOptionValues, judgeUnknownProgram } from './programs/unknown-program.ts';
import { editsGuardOff } from './programs/unguarded-agents.ts';
import { emitsSecret, sendsSecret } from './secret-flow.ts';
import { emitsStore, markWritten, sendsStore } from './store-flow.ts';
import { outputOfSearch } from './search-output.ts';
import type { ShellScope } from './shell-scope.ts';
import { staticOutput } from './static-output.ts';
import { isUnknown, SECRET, STORE, UNTRUSTED, withoutUnknown } from './unknown-text.ts';

export interface ArgvCall {
  readonly argv: readonly string[];
  readonly scope: ShellScope;
  readonly stdin: Stdin;
  readonly cause: string;
  readonly inspector: Inspector;
}

export interface Judged {
  /** Null when the command itself does nothing (its inner commands have their own findings). */
  readonly hit: Hit | null;
  readonly output: string;
}

export function judgeArgv(request: ArgvCall): Judged {
  const [program = '', ...args] = request.argv;
  const written = request.inspector.files.get(program);
  if (written !== undefined && program.includes('/')) {
    return { hit: null, output: request.inspector.runScript(written, request.scope, request.cause) };
  }
  const name = resolveName(program);
  if (isUnknown(name)) return { hit: judgeHiddenProgram(name, args), output: UNTRUSTED };
  if (READS_CONTENT.test(name) && args.some(namesCredential)) request.inspector.readsCredentials = true;
  rememberGenerated(name, args, request.scope);
  const call: Call = { ...request, name, path: program, args };
  const isSecretSent = sendsSecret(call);
  if (isSecretSent || sendsStore(call)) {
    const found = hit('bash_destructive', isSecretSent ? 'sends-credentials' : 'sends-data');
    return { hit: worstOf([found, ...toList(judge(call))]) ?? found, output: UNTRUSTED };
  }
  const output =
    (name === 'find' ? outputOfFind(args, call.scope) : null) ??
    outputOfSearch(name, args, call.scope) ??
    staticOutput(name, args, request.stdin);
  const marks =
    (emitsSecret(call) && !output.includes(SECRET) ? SECRET : '') +
    (emitsStore(call) && !output.includes(STORE) ? STORE : '');
  if (marks !== '') markWritten(call, marks);
  return { hit: judge(call), output: output + marks };
}

function toList(found: Hit | null): Hit[] {
  return found === null ? [] : [found];
}

/** Programs that pass on what is in the files they are given. */
const READS_CONTENT = /^(cat|head|tail|base64|xxd|tar|zip|gzip|cp|openssl|grep|sed|awk|less|bat|dd|strings)$/;

const EDITS_TEXT = new Set(['jq', 'yq', 'dasel', 'gojq', 'jaq', 'sed', 'gsed']);

function judge(call: Call): Hit | null {
  const handler = findHandler(call.name);
  if (call.path.startsWith('/etc/init.d/') || call.path.startsWith('/etc/rc.d/'))
    return findHandler('service')?.({ ...call, name: 'service', args: [call.name, ...call.args] }) ?? null;
  if (EDITS_TEXT.has(call.name) && editsGuardOff(call.name, call.args))
    return hit('system_modify', 'agent-settings');
  const unsafe = judgeInstall(call.name, call.args);
  if (unsafe !== null) return unsafe;
  if (handler !== null) return handler(call) ?? null;
  if (asksForHelp(call.args)) return hit('file_read', 'read-only-program');
  if (!isReadOnlyProgram(call.name)) return judgeUnknownProgram(call, findHandler);
  if (clearsSomething(call.name, call.args)) return hit('system_modify', 'system-program');
  if (!SPEAKS_ONLY.test(call.name)) judgeOptionValues(call);
  if (OPENS_FILES.test(call.name)) runPagerWords(call);
  return hit('file_read', 'read-only-program');
}

/** Programs that print or compare their words and take no option that runs or writes. */
const SPEAKS_ONLY =
  /^(echo|printf|true|false|:|test|\[|\[\[|export|declare|local|readonly|typeset|grep|egrep|fgrep|cat|head|tail|wc|ls|jq)$/;

const OPENS_FILES = /^(less|more|man|view|most)$/;

/** `less '+!cmd'`, `man -P cmd`. */
function runPagerWords(call: Call): void {
  for (const [index, word] of call.args.entries()) {
    const text =
      /^\+!(.+)$/.exec(word)?.[1] ?? (call.args[index - 1] === '-P' && /\s/.test(word) ? word : undefined);
    if (text !== undefined) call.inspector.runScript(text, call.scope, call.cause);
  }
}

/** `tool --version` and `tool --help` read, whatever the tool is. */
function asksForHelp(args: readonly string[]): boolean {
  return (
    args.length === 1 && ['--version', '--help', '-V', '-version', 'version', 'help'].includes(args[0] ?? '')
  );
}

/** The program's bare name: without its folder, with globs and unknown parts filled where only one name fits. */
function resolveName(program: string): string {
  let name = program.slice(program.lastIndexOf('/') + 1).replace(/\.exe$/i, '');
  const unversioned = name.replace(/(?<=.)@[\w.^~-]*$/, '');
  if (unversioned !== name && findHandler(unversioned) !== null) name = unversioned;
  if (isUnknown(name)) {
    const rest = withoutUnknown(name);
    if (rest !== '' && findHandler(rest) !== null) name = rest;
  }
  if (/[*?[]/.test(name) && name !== '[' && name !== '[[') return matchGlob(name) ?? name;
  return name;
}

function matchGlob(pattern: string): string | null {
  const source = pattern
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  try {
    const regex = new RegExp(`^${source}$`);
    return programNames().find((name) => regex.test(name)) ?? null;
  } catch {
    return null; // An unbalanced bracket is a literal name to the shell, and no program of ours has one.
  }
}

function judgeHiddenProgram(name: string, args: readonly string[]): Hit {
  if (name.includes(UNTRUSTED)) return hit('bash_destructive', 'untrusted-program');
  const looksLikeDeletion = args.some(
    (arg) => /^-[a-z]*(rf|fr)[a-z]*$/i.test(arg) || /^(\/|~|\/\*|~\/\*)$/.test(arg),
  );
  if (looksLikeDeletion) return hit('bash_destructive', 'unknown-program-deletes');
  return hit('bash_exec', 'unknown-program');
}
