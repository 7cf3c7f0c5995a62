/** Judges scripts and commands, and keeps the findings. The walker decides the order of a line. */
import { shellQuote } from '@caisson/protocol';
import { parse } from 'unbash';
import type { ActionClass } from '../action-class.ts';
import { hit, type Finding, type Hit } from './finding.ts';
import type { Inspector, Stdin } from './inspector.ts';
import { judgeArgv } from './judge-argv.ts';
import { ScriptWalker } from './script-walker.ts';
import { callScope, forkScope, type ShellScope } from './shell-scope.ts';
import { WorkLimitError } from './work-limit-error.ts';
import { UNKNOWN } from './unknown-text.ts';
import { WrittenFiles } from './written-files.ts';

const MAX_DEPTH = 16;
const MAX_STEPS = 5000;
/** So much text costs one step more: a command may be short and its folder, or what a variable holds, long. */
const CHARS_PER_STEP = 200;
const OPENS_ENDLESSLY = /(?:[^\s(){}<>$]{0,3}[<>$]?[({]){100}/;
const MAX_STATIC_OUTPUT = 20_000;

/** One simple command or redirection after expansion. */
export interface InspectedCommand {
  /** Program and arguments; for a redirection the operator and its target. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Null for a wrapper: the command it runs has its own entry. */
  readonly actionClass: ActionClass | null;
  readonly cause: string;
}

export class CommandInspector implements Inspector {
  readonly files = new WrittenFiles();
  readsCredentials = false;
  findings: Finding[] = [];
  /** Every simple command, expanded, and every redirection: the input of path and command rules. */
  readonly commands: InspectedCommand[] = [];
  /** The whole line: a cause is quoted from it. */
  readonly line: string;
  private readonly walker: ScriptWalker;
  private steps = 0;

  constructor(line: string) {
    this.line = line;
    this.walker = new ScriptWalker(this);
  }

  runScript(text: string, scope: ShellScope, cause: string, stdin?: Stdin): string {
    if (scope.depth > MAX_DEPTH) {
      this.report(hit('bash_destructive', 'too-deep'), cause);
      return UNKNOWN;
    }
    // The parser takes a time that grows with the square of what is opened and never closed.
    if (OPENS_ENDLESSLY.test(text)) throw new WorkLimitError('nested too deeply');
    const script = parse(text);
    if (script.errors !== undefined && script.errors.length > 0) {
      this.report(hit('bash_destructive', 'unparsable'), cause);
    }
    return this.walker.script(script, { source: text, scope, outerCause: cause }, stdin);
  }

  runArgv(argv: readonly string[], scope: ShellScope, cause: string, stdin?: Stdin): string {
    const [program, ...args] = argv;
    if (program === undefined) return '';
    const shellFunction = scope.functions.get(program);
    this.spendSteps(1 + readingCost(argv, scope.cwd, stdin));
    if (shellFunction !== undefined && scope.depth < MAX_DEPTH) {
      const frame = { source: shellFunction.source, scope: callScope(scope, args), outerCause: cause };
      return this.walker.node(shellFunction.node.body, frame, stdin);
    }
    const alias = scope.aliases.get(program);
    if (alias !== undefined && scope.depth < MAX_DEPTH) {
      const inner = forkScope(scope);
      inner.aliases.delete(program);
      return this.runScript([alias, ...args.map(quote)].join(' '), inner, cause, stdin);
    }
    if (scope.depth > MAX_DEPTH) {
      this.report(hit('bash_destructive', 'too-deep'), cause);
      return UNKNOWN;
    }
    const judged = judgeArgv({ argv, scope, stdin, cause, inspector: this });
    this.commands.push({ argv, cwd: scope.cwd, actionClass: judged.hit?.actionClass ?? null, cause });
    if (judged.hit !== null) this.report(judged.hit, cause);
    return judged.output.slice(0, MAX_STATIC_OUTPUT);
  }

  report(found: Hit, cause: string): void {
    this.findings.push({ actionClass: found.actionClass, rule: found.rule, cause });
  }

  collect(run: () => void): Finding[] {
    const outside = this.findings;
    this.findings = [];
    run();
    const inside = this.findings;
    this.findings = outside;
    return inside;
  }

  /** Every command, redirection and loop turn costs one step or more; a line has a limited number of steps. */
  spendSteps(count = 1): void {
    this.steps += count;
    if (this.steps > MAX_STEPS) throw new WorkLimitError('too many steps');
  }
}

/** Each word may be a path, and is read with the folder before it. */
function readingCost(argv: readonly string[], cwd: string, stdin: Stdin = ''): number {
  const chars = argv.reduce((sum, word) => sum + word.length + cwd.length, stdin.length);
  return Math.floor(chars / CHARS_PER_STEP);
}

/** Quotes a word so that it survives being parsed again. */
function quote(word: string): string {
  return /^[\w./:=@%+,*?~-]+$/.test(word) ? word : shellQuote(word);
}
