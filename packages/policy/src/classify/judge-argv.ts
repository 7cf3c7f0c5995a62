/** Finds the program that a list of words runs and asks its handler. */
import { isCredentialFile } from './control-files.ts';
import { hit, type Hit } from './finding.ts';
import type { Call, Inspector, Stdin } from './inspector.ts';
import { findHandler, programNames } from './program-table.ts';
import { clearsSomething, isReadOnlyProgram } from './programs/read-only.ts';
import { judgeOptionValues, judgeUnknownProgram } from './programs/unknown-program.ts';
import type { ShellScope } from './shell-scope.ts';
import { staticOutput } from './static-output.ts';
import { isUnknown, UNTRUSTED, withoutUnknown } from './unknown-text.ts';

export interface ArgvCall {
  readonly argv: readonly string[];
  readonly scope: ShellScope;
  readonly stdin: Stdin;
  readonly cause: string;
  readonly inspector: Inspector;
}

export interface Judged {
  /** Null when the command itself is nothing (its inner commands were reported apart). */
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
  if (READS_CONTENT.test(name) && args.some(isCredentialFile)) request.inspector.readsCredentials = true;
  const call: Call = { ...request, name, args };
  return { hit: judge(call), output: staticOutput(name, args, request.stdin) };
}

/** Programs that pass on what is in the files they are given. */
const READS_CONTENT = /^(cat|head|tail|base64|xxd|tar|zip|gzip|cp|openssl|grep|sed|awk|less|bat|dd|strings)$/;

function judge(call: Call): Hit | null {
  const handler = findHandler(call.name);
  if (handler !== null) return handler(call) ?? null;
  if (asksForHelp(call.args)) return hit('file_read', 'read-only-program');
  if (!isReadOnlyProgram(call.name)) return judgeUnknownProgram(call, findHandler);
  if (clearsSomething(call.name, call.args)) return hit('system_modify', 'system-program');
  if (!SPEAKS_ONLY.test(call.name)) judgeOptionValues(call);
  return hit('file_read', 'read-only-program');
}

/** Programs that print or compare their words and take no option that runs or writes. */
const SPEAKS_ONLY =
  /^(echo|printf|true|false|:|test|\[|\[\[|export|declare|local|readonly|typeset|grep|egrep|fgrep|cat|head|tail|wc|ls|jq)$/;

/** `tool --version` and `tool --help` read, whatever the tool is. */
function asksForHelp(args: readonly string[]): boolean {
  return (
    args.length === 1 && ['--version', '--help', '-V', '-version', 'version', 'help'].includes(args[0] ?? '')
  );
}

/** The program's bare name: without its folder, with globs and holes filled where only one fits. */
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
