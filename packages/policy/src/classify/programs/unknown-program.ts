/**
 * A program without its own handler. Nothing is known about it, but its words still show something: a command to run,
 * code to evaluate, a verb that destroys, a file to write.
 */
import { isGrave } from '../../action-class.ts';
import { hit, type Finding, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';
import { hitOfWrite } from '../write-hit.ts';
import { findDestructiveVerb, ordersDestruction } from './destructive-verbs.ts';
import { PROCESS } from '../unknown-text.ts';
import { isDestructiveSql } from './databases.ts';
import { isDryRun } from './dry-run.ts';
import { judgeGrant } from './grants.ts';
import { isMiner, registersRunner } from './foreign-work.ts';
import { startsUnguarded } from './unguarded-agents.ts';
import { judgeCode } from './inline-code.ts';

/** Looks up a handler; passed in, because the table of handlers needs this file. */
export type FindHandler = (name: string) => Handler | null;

const MAX_WORDS = 24;
/** Options with which any tool gets a command for a shell. */
const COMMAND_OPTION =
  /^--?(scripts?|commands?|exec|exec-batch|execute|cmd|command|run|call|shell|shell-command|pre|pager|compress-program|use-compress-program|preview|bind|rsh|editor|hook|on-change|onchange|on-success|on-failure|pager|to-command|filter|post-hook|pre-hook|deploy-hook|then|post|action|script|entrypoint)$/;
/** Options with which any interpreter gets code. */
const CODE_OPTION = /^(-e|-c|-r|-E|-x|--eval|--expr|--expression|--execute|--code|--command|-eval)$/;
const OUTPUT_OPTION =
  /^(-o|-O|--out|--output|--out-file|--outfile|--output-file|--output-document|--log-file|--logfile|--dest|--destination|--target|-out)$/;
const PROSE_OPTION =
  /^(-m|-t|-b|-k|--(message|title|body|description|notes?|comment|subject|text|name|grep|reason|prompt|query))$/;

export function judgeUnknownProgram(call: Call, findHandler: FindHandler): Hit {
  judgeOptionValues(call);
  judgeConsole(call);
  for (const code of codesOf(call)) reportGrave(call, () => judgeCode(code, call));
  runEmbeddedCommand(call, findHandler);
  if (isDryRun(call.args)) return hit('bash_exec', 'unknown-program');
  if (startsUnguarded(call.name, call.args)) return hit('bash_destructive', 'agent-unguarded');
  if (isMiner(call)) return hit('bash_destructive', 'miner');
  if (registersRunner(call)) return hit('bash_destructive', 'opens-machine');
  const granted = judgeGrant(call.name, call.args.join(' '), call.stdin);
  if (granted !== null) return granted;
  if (ordersSql(call)) return hit('bash_destructive', 'database-drop');
  if (isGraveCmdlet(call)) return hit('bash_destructive', 'destructive-verb');
  if (
    call.args.some(
      (arg) => GRAVE_OPTION.test(arg) || (call.name.startsWith('kafka-') && /^--(delete|remove)/.test(arg)),
    ) ||
    namesLossItself(call.name)
  )
    return hit('bash_destructive', 'destructive-verb');
  if (findDestructiveVerb(call.name, call.args) !== null) return hit('bash_destructive', 'destructive-verb');
  if (call.args[0] === 'publish' && call.name !== 'dotnet') return hit('git_push', 'publish');
  return hit('bash_exec', 'unknown-program');
}

const CONSOLE = new Set(
  'shell shell_plus console repl tinker php:cli php-eval eval eval-file iex pry c'.split(' '),
);

/** A framework's own console, with its orders on standard input or in a word: `flask shell <<EOF`. */
export function judgeConsole(call: Call): void {
  const at = call.args.findIndex((word, index) => index < 3 && CONSOLE.has(word));
  if (at < 0) return;
  const words = call.args.slice(at + 1).filter((word) => /[(.>]/.test(word) && /\s|\(/.test(word));
  for (const code of call.stdin === undefined ? words : [...words, call.stdin])
    reportGrave(call, () => judgeCode(code, call));
}

/** Text that a compiler or runner would take as a program: from the line itself, not from the disk. */
function codesOf({ args, stdin, inspector }: Call): string[] {
  return args.flatMap((arg) => {
    if (arg.startsWith(PROCESS)) return [arg.slice(1)];
    return (arg === '-' ? stdin : inspector.files.get(arg)) ?? [];
  });
}

/** An unlisted client with a statement that drops or empties something. */
export function ordersSql({ args, stdin }: Call): boolean {
  const texts = args.filter((_, index) => !PROSE_OPTION.test(args[index - 1] ?? ''));
  return [...texts, stdin ?? ''].some(
    (text) =>
      /^\s*(drop|truncate|delete\s+from|alter\s+(table|role|user)|grant|match)\s/i.test(text) &&
      (isDestructiveSql(text) || /\bdetach\s+delete\b/i.test(text)),
  );
}

/** The verb as an option: `kafka-consumer-groups --delete`. */
const GRAVE_OPTION =
  /^--(delete|delete-all|purge|wipe|wipe-all|destroy|drop|erase|erase-all|remove-all|zap|nuke|factory-reset|force-delete|remove|unregister)$/;

/** PowerShell's `Remove-Item`, `Stop-Computer`; a few of the same form only tidy the session. */
function isGraveCmdlet({ name, args }: Call): boolean {
  const isCmdlet =
    /^(Remove|Clear|Stop|Disable|Uninstall|Reset|Restart|Suspend|Dismount|Revoke|Unregister|Initialize|Format)-[A-Z]\w+$/.test(
      name,
    ) ||
    /^(remove-item|stop-computer|restart-computer|clear-content|format-volume|clear-disk|set-executionpolicy|set-mppreference)$/i.test(
      name,
    );
  if (/-(Host|Variable|Module|Job|Transcript|Table|List|Wide|Custom|Hex|TypeData|Event)$/.test(name))
    return false;
  return isCmdlet && !args.some((arg) => /^-WhatIf$/i.test(arg));
}

/** `./destroy.sh`, `aws-nuke`: named for what it does. */
function namesLossItself(name: string): boolean {
  const bare = name.replace(/\.(sh|bash|py|js|bat|cmd|ps1)$/, '');
  return (
    ordersDestruction(bare) || /^(kafka|zookeeper|hdfs|pg|mysql|redis)-(\w+-)?(delete|drop|purge)-/.test(bare)
  );
}

/** Options that run a command or name a file to write, whatever the program is. Reports what is grave. */
export function judgeOptionValues(call: Call): void {
  for (const [option, value] of optionValues(call.args)) {
    if (COMMAND_OPTION.test(option) && /\s/.test(value)) runText(call, value);
    if (CODE_OPTION.test(option)) reportGrave(call, () => judgeCode(value, call));
    const written = OUTPUT_OPTION.test(option) ? hitOfWrite(value, call.scope) : null;
    if (written !== null && isGrave(written.actionClass)) call.inspector.report(written, call.cause);
  }
}

function* optionValues(args: readonly string[]): Generator<[string, string]> {
  for (const [index, arg] of args.slice(0, MAX_WORDS).entries()) {
    if (!arg.startsWith('-')) continue;
    const equals = arg.indexOf('=');
    const next = args[index + 1];
    if (equals > 0) yield [arg.slice(0, equals), arg.slice(equals + 1)];
    else if (next !== undefined) yield [arg, next];
  }
}

/** Names of programs that other programs have as sub-commands: `pyenv init`, `bundle remove`. */
const ALSO_A_VERB =
  /^(init|remove|del|install|link|unlink|format|sync|date|service|net|pkg|route|mount|batch|at|set|read|source|history|kill|time|watch|script|split|task|just|migrate|alias|eval|env|exec|command|port|op|n|ts|sc|sv|pod|retry|trash|mc|reg|ip|io|host|http|view|make|passwd|halt|reboot|shutdown|wipe|scrub|touch|find|defaults|installer)$/;

/** `some-wrapper --opt 3 rm -rf data` and `some-watcher 'rm -rf data'`. */
function runEmbeddedCommand(call: Call, findHandler: FindHandler): void {
  for (const [index, word] of call.args.slice(0, MAX_WORDS).entries()) {
    if (PROSE_OPTION.test(call.args[index - 1] ?? '')) continue;
    if (/\s/.test(word)) {
      const first = /^\s*(?:\S*\/)?([\w.-]+)\s/.exec(word)?.[1];
      if (first !== undefined && findHandler(first) !== null) runText(call, word);
    } else if (
      /^(?:\S*\/)?[a-z][\w.-]*$/.test(word) &&
      (index < call.args.length - 1 || call.args[index - 1] === '--')
    ) {
      if (
        (ALSO_A_VERB.test(word) && call.args[index - 1] !== '--') ||
        findHandler(word.slice(word.lastIndexOf('/') + 1)) === null
      )
        continue;
      const rest = call.args.slice(index);
      reportGrave(call, () => call.inspector.runArgv(rest, forkScope(call.scope), call.cause, call.stdin));
      return;
    }
  }
}

/** The value may be the command itself or hold it: `enter:execute(rm {})`. */
function runText(call: Call, value: string): void {
  const text = /\bexecute(?:-\w+)?\((.*)\)$/s.exec(value)?.[1] ?? value;
  reportGrave(call, () => call.inspector.runScript(text, forkScope(call.scope), call.cause));
}

/** What may or may not be a command counts only when it is grave; a text that is no shell does not. */
function reportGrave(call: Call, run: () => void): void {
  const findings: Finding[] = call.inspector.collect(run);
  for (const found of findings) {
    if (isGrave(found.actionClass) && !NOT_SHELL.has(found.rule)) call.inspector.report(found, found.cause);
  }
}

const NOT_SHELL = new Set(['unparsable', 'too-deep', 'eval-unknown']);
