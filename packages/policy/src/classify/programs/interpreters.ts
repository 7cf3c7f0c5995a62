/** Interpreters given code on the command line or on their standard input. */
import { severityOf } from '../../action-class.ts';
import { hit, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { hitOfWrites } from '../write-hit.ts';
import { isUnknown, PROCESS, UNTRUSTED } from '../unknown-text.ts';
import { forkScope } from '../shell-scope.ts';
import { ordersDestruction } from './destructive-verbs.ts';
import { judgeCode, looksLikeCode } from './inline-code.ts';
import { isEmptyingEdit } from './writes.ts';

interface InterpreterForm {
  readonly pattern: RegExp;
  /** Options whose value is code. */
  readonly code: RegExp;
  readonly valued?: RegExp;
  /** The first word is code: awk. */
  readonly firstIsCode?: boolean;
}

const FORMS: readonly InterpreterForm[] = [
  { pattern: /^(python|pypy|ipython)[\d.]*$/, code: /^-[a-zA-Z]*c$/, valued: /^-(m|W|X)$/ },
  {
    pattern: /^(node|nodejs|bun|tsx|ts-node|electron)$/,
    code: /^(-[a-zA-Z]*[ep]|--eval|--print)$/,
    valued: /^(-r|--require|--import|--loader)$/,
  },
  { pattern: /^deno$/, code: /^eval$/ },
  { pattern: /^perl[\d.]*$/, code: /^-[a-zA-Z0-9]*[eE]$/, valued: /^-[IM]$/ },
  { pattern: /^(ruby|jruby)[\d.]*$/, code: /^-[a-z]*e$/, valued: /^-[rI]$/ },
  { pattern: /^php[\d.]*$/, code: /^-[rBRE]$/ },
  { pattern: /^(lua|luajit)[\d.]*$/, code: /^-e$/ },
  {
    pattern:
      /^(Rscript|R|littler|groovy|groovysh|elixir|julia|scala|scala-cli|amm|kotlin|kotlinc|jshell|erl|ghc|ghci|runghc|runhaskell|clojure|clj|bb|lumo|raku|osascript|tclsh\d*[\d.]*|wish|expect|racket|sbcl|clisp|ecl|guile|chibi|gosh|csi|iex|ocaml|utop|swift|nim|crystal|janet|fennel|hy|xonsh|nu|elvish|octave|octave-cli|sage|gnuplot|maxima|m4|gforth|swipl|mono|csharp|dotnet-script|fsi|qjs|d8|jsc|rhino|nashorn|jjs|coffee|ts-node-esm|esno|jiti|vite-node|zx|xmlstarlet|gst|io|factor)$/,
    code: /^(-e|-c|-E|-r|-x|-g|-p|--eval|-eval|--expr|--execute|--command|--print)$/,
  },
  { pattern: /^(pwsh|powershell)$/i, code: /^-(c|command)$/i },
  { pattern: /^(g|m|n)?awk$/, code: /^(-e|--source)$/, valued: /^-[FvfiW]$/, firstIsCode: true },
  { pattern: /^(vim?|nvim|ex|emacs|ed)$/, code: /^(-[a-z]*c|--cmd|\+.*|--eval|-S)$/ },
  { pattern: /^(cmd)$/i, code: /^\/c$/i },
];

/** Most names are none of these: one question instead of one for each form. */
const ANY_FORM = new RegExp(FORMS.map(({ pattern }) => pattern.source).join('|'), 'i');

export function findInterpreter(name: string): Handler | null {
  if (!ANY_FORM.test(name)) return null;
  const form = FORMS.find(({ pattern }) => pattern.test(name));
  return form === undefined ? null : (call) => judgeInterpreter(call, form);
}

interface Split {
  readonly codes: string[];
  readonly operands: string[];
  readonly flags: string[];
}

function judgeInterpreter(call: Call, form: InterpreterForm): ReturnType<Handler> {
  const words = split(call, form);
  const { codes, operands, flags } = words;
  if (flags.some((flag) => /^-e(nc|ncodedcommand|c)?$/i.test(flag)) && /^p(wsh|owershell)$/i.test(call.name))
    return hit('bash_destructive', 'hidden-code');
  const runsModule = flags.includes('-m');
  if (runsModule) runModule(call, flags[flags.indexOf('-m') + 1] ?? '', operands);
  if (codes.length === 0 && flags.some((flag) => /^(--version|-V|-v|--help|-h)$/.test(flag)))
    return hit('file_read', 'read-only-program');
  const stdin = runsModule || !readsStdin(operands) ? undefined : call.stdin;
  if (codes.length === 0 && !form.firstIsCode && stdin !== undefined) {
    if (isUnknown(stdin) && stdin.trim().length <= 2) return hit('bash_destructive', 'pipe-to-interpreter');
    codes.push(stdin);
  }
  addOtherCode(call, form, words);
  for (const code of codes) {
    if (code.trim() === UNTRUSTED) return hit('bash_destructive', 'pipe-to-interpreter');
    judgeCode(form.firstIsCode === true ? programOfAwk(code) : code, call);
    if (SHELL_LIKE.test(call.name)) runAsShell(code, call);
  }
  if (isInPlaceEdit(call)) return judgeInPlaceEdit(call, words);
  if (editsFiles(call, words)) return hitOfWrites(operands, call.scope);
  if (form.firstIsCode === true)
    return judgeAwk(codes, flags, () => hitOfWrites(operands, call.scope), call.scope);
  return judgeOperands(call, operands) ?? hit('bash_exec', codes.length > 0 ? 'inline-code' : 'interpreter');
}

function readsStdin(operands: readonly string[]): boolean {
  const [first] = operands;
  return first === undefined || first === '-' || (first === 'run' && operands.includes('-'));
}

/** Code that does not stand behind an option for it. */
function addOtherCode(call: Call, form: InterpreterForm, { codes, operands }: Split): void {
  // A framework's own shell: `manage.py shell -c CODE`, `artisan tinker --execute=CODE`, `… | rails console`.
  codes.push(...operands.slice(1).filter(looksLikeCode));
  const isConsole =
    /^(iex|irb|pry)$/.test(call.name) || operands.slice(1, 3).some((word) => FRAMEWORK_SHELL.test(word));
  if (isConsole && call.stdin !== undefined) codes.push(call.stdin);
  if (IS_EDITOR.test(call.name) && operands.length > 0 && call.stdin !== undefined) codes.push(call.stdin);
  if (operands[0]?.startsWith(PROCESS) === true) codes.push(operands[0].slice(1));
  const written = codes.length === 0 ? call.inspector.files.get(operands[0] ?? '') : undefined;
  if (written !== undefined && !form.firstIsCode) codes.push(written);
}

function judgeInPlaceEdit(call: Call, { codes, operands }: Split): Hit {
  const empties =
    codes.some((code) => code.trim() === '') && !call.args.some((arg) => /^-[a-z0-9]*p/.test(arg));
  const isSilent =
    call.args.some((arg) => /^-[a-z0-9]*n/.test(arg)) &&
    !codes.some((code) => /\b(print|puts|say|p)\b/.test(code));
  const erases = isSilent || codes.some(isEmptyingEdit);
  return empties || erases ? hit('file_delete', 'truncate') : hitOfWrites(operands, call.scope);
}

/** An editor that has code for its files, or whose files are not ordinary ones. */
function editsFiles(call: Call, { codes, operands }: Split): boolean {
  if (operands.length === 0) return false;
  if (IS_EDITOR.test(call.name) && codes.length > 0) return true;
  const isEditor = IS_EDITOR.test(call.name) || call.name === 'emacs';
  return isEditor && hitOfWrites(operands, call.scope).actionClass !== 'file_write';
}

/** What a script or a task does. */
function judgeOperands(call: Call, operands: readonly string[]): Hit | null {
  const [first = '', second = ''] = operands;
  const resetsDjango =
    /manage\.py$/.test(first) &&
    (/^(flush|reset_db|sqlflush|reset_schema)$/.test(second) ||
      (second === 'migrate' && operands.includes('zero')));
  const resetsLaravel = first === 'artisan' && /^(migrate:(fresh|reset|refresh)|db:wipe)$/.test(second);
  if (resetsDjango || resetsLaravel) return hit('bash_destructive', 'database-reset');
  if (/^(deno|bun)$/.test(call.name) && first === 'publish') return hit('git_push', 'publish');
  // `node ace migration:fresh`, `bun run db:drop`, `php bin/console doctrine:schema:drop`
  const isGrave = (word: string): boolean =>
    ordersDestruction(word) && (/[:.]/.test(word) || first === 'run');
  return operands.slice(1, 3).some(isGrave) ? hit('bash_destructive', 'destructive-target') : null;
}

/** `python -m twine upload`: a module is a program under another name. */
function runModule(call: Call, module: string, operands: readonly string[]): void {
  const run = () => call.inspector.runArgv([module, ...operands], forkScope(call.scope), call.cause);
  for (const found of call.inspector.collect(run)) {
    if (severityOf(found.actionClass) > severityOf('bash_exec')) call.inspector.report(found, call.cause);
  }
}

const IS_EDITOR = /^(vim?|nvim|ex|ed)$/;
const FRAMEWORK_SHELL = /^(shell|shell_plus|dbshell|console|tinker|dbconsole|repl)$/;

/** Shells with another grammar: the part they share with ours is judged like ours. */
const SHELL_LIKE = /^(pwsh|powershell|cmd|nu|elvish|xonsh|zx)$/i;

function runAsShell(code: string, call: Call): void {
  const text = code
    .replace(/(^|[;|&{]\s*)(ri|erase|rd|Remove-Item)(?=\s)/gi, '$1rm')
    .replace(/\s-(recurse|fo|force|r)\b/gi, ' -r');
  for (const found of call.inspector.collect(() =>
    call.inspector.runScript(text, forkScope(call.scope), call.cause),
  )) {
    if (found.rule !== 'unparsable') call.inspector.report(found, call.cause);
  }
}

function split(call: Call, form: InterpreterForm): Split {
  const codes: string[] = [];
  const operands: string[] = [];
  const flags: string[] = [];
  const { args } = call;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const inline = /^(--eval|--print|-e|-c|-r|--cmd)=(.*)$/s.exec(arg);
    const glued =
      form.code.test(arg.slice(0, 2)) && arg.length > 2 && /^-[ecErp][^a-zA-Z-]/.test(arg)
        ? arg.slice(2)
        : null;
    if (operands.length > 0 && !(form.pattern.test('vim') || form.pattern.test('awk'))) operands.push(arg);
    else if (inline) codes.push(inline[2] ?? '');
    else if (/^\+./.test(arg) && form.code.test(arg)) codes.push(arg.slice(1));
    else if (form.code.test(arg)) codes.push(args[(index += 1)] ?? '');
    else if (glued !== null) codes.push(glued);
    else if (form.valued?.test(arg)) flags.push(arg, args[(index += 1)] ?? '');
    else if (/^[-+]./.test(arg)) flags.push(arg);
    else if (form.firstIsCode === true && codes.length === 0 && !flags.includes('-f')) codes.push(arg);
    else operands.push(arg);
  }
  return { codes, operands, flags };
}

/** `perl -pi -e`, `ruby -i`. */
function isInPlaceEdit(call: Call): boolean {
  return (
    /^(perl|ruby)/.test(call.name) && call.args.some((arg) => /^-[a-hj-zA-Z0-9]*i(\.\w+)?[pne]*$/.test(arg))
  );
}

/** An awk program whose pipes into commands are calls, and whose patterns hold no quotes that would shift the strings. */
function programOfAwk(code: string): string {
  return code.replace(/\/[^/\s]*"[^/\s]*\//g, '//').replace(/\|&?\s*("(?:[^"\\]|\\.)*")/g, '; system($1)');
}

function judgeAwk(
  codes: readonly string[],
  flags: readonly string[],
  written: () => Hit,
  scope: Call['scope'],
): ReturnType<Handler> {
  if (flags.some((flag) => /^(-i|inplace)$/.test(flag))) {
    const printsNothing = codes.some(
      (code) => /^\s*0?\s*$/.test(code) || (code.includes('{') && !/print/.test(code)),
    );
    return printsNothing ? hit('file_delete', 'truncate') : written();
  }
  // `print > "file"` is a write like any other.
  const files = codes.flatMap((code) =>
    [...code.matchAll(/print[^|;}]{0,300}>>?\s*"([^"]+)"/g)].map((match) => match[1] ?? ''),
  );
  const empties = files.length > 0 && codes.some((code) => /printf?\s*\(?\s*""\s*\)?\s*>[^>]/.test(code));
  if (empties) return hit('file_delete', 'truncate');
  if (files.length > 0) return hitOfWrites(files, scope);
  const acts = codes.some((code) => /\b(system|getline)\b|print[^|;}]{0,300}[|>]/.test(code));
  return acts ? hit('bash_exec', 'inline-code') : hit('file_read', 'read-only-program');
}
