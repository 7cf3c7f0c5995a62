/**
 * Walks a parsed line the way a shell would run it, without running it. Every simple command is
 * expanded and judged; names that the line sets are known to what comes after. Nothing is
 * skipped for being in a branch that might not be taken.
 */
import {
  forEachChild,
  parse,
  type Command,
  type CommandNode,
  type CompoundList,
  type Script,
  type Statement,
  type SyntaxNode,
  type Word,
} from 'unbash';
import type { ActionClass } from '../action-class.ts';
import { expandParts, expandToText, expandWord } from './expand-word.ts';
import { hit, type Finding, type Hit } from './finding.ts';
import type { Inspector, Stdin } from './inspector.ts';
import { judgeArgv } from './judge-argv.ts';
import { judgeEnvironment } from './judge-environment.ts';
import { judgeRedirect } from './redirections.ts';
import { WrittenFiles } from './written-files.ts';
import { callScope, forkScope, type ShellScope } from './shell-scope.ts';
import { isForkBomb, isRunawayLoop } from './runaway.ts';
import { PROCESS, UNKNOWN } from './unknown-text.ts';

const MAX_DEPTH = 16;
const MAX_STEPS = 2000;
const MAX_LOOP_WORDS = 8;
const MAX_STATIC_OUTPUT = 20_000;

/** Where a piece of syntax stands: the text its positions index, and the names in force. */
interface Frame {
  readonly source: string;
  readonly scope: ShellScope;
  /** Cause to report when this source is not literally part of the line. */
  readonly outerCause: string;
}

/** One simple command or redirection after expansion. */
export interface InspectedCommand {
  /** Program and arguments; for a redirection the operator and its target. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Null for a wrapper: what it runs is listed apart. */
  readonly actionClass: ActionClass | null;
  readonly cause: string;
}

export class CommandInspector implements Inspector {
  readonly files = new WrittenFiles();
  readsCredentials = false;
  findings: Finding[] = [];
  /** Every simple command, expanded, and every redirection: what path and command rules look at. */
  readonly commands: InspectedCommand[] = [];
  private readonly line: string;
  private steps = 0;

  constructor(line: string) {
    this.line = line;
  }

  runScript(text: string, scope: ShellScope, cause: string, stdin?: Stdin): string {
    if (scope.depth > MAX_DEPTH) {
      this.report(hit('bash_destructive', 'too-deep'), cause);
      return UNKNOWN;
    }
    const script = parse(text);
    if (script.errors !== undefined && script.errors.length > 0) {
      this.report(hit('bash_destructive', 'unparsable'), cause);
    }
    return this.script(script, { source: text, scope, outerCause: cause }, stdin);
  }

  runArgv(argv: readonly string[], scope: ShellScope, cause: string, stdin?: Stdin): string {
    const [program, ...args] = argv;
    if (program === undefined) return '';
    const shellFunction = scope.functions.get(program);
    if (shellFunction !== undefined && scope.depth < MAX_DEPTH && this.hasStepsLeft()) {
      const frame = { source: shellFunction.source, scope: callScope(scope, args), outerCause: cause };
      return this.node(shellFunction.node.body, frame, stdin);
    }
    const alias = scope.aliases.get(program);
    if (alias !== undefined && scope.depth < MAX_DEPTH) {
      const inner = forkScope(scope);
      inner.aliases.delete(program);
      return this.runScript([alias, ...args.map(quote)].join(' '), inner, cause, stdin);
    }
    if (scope.depth > MAX_DEPTH || !this.hasStepsLeft()) {
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

  private hasStepsLeft(): boolean {
    this.steps += 1;
    return this.steps <= MAX_STEPS;
  }

  private script(script: Script, frame: Frame, stdin: Stdin): string {
    const inner = script.source === undefined ? frame : { ...frame, source: script.source };
    return this.statements(script.commands, inner, stdin);
  }

  private statements(statements: readonly Statement[], frame: Frame, stdin: Stdin): string {
    let output = '';
    for (const statement of statements) output += this.node(statement.command, frame, stdin);
    return output;
  }

  private list(list: CompoundList, frame: Frame, stdin: Stdin): string {
    return this.statements(list.commands, frame, stdin);
  }

  private node(node: Statement['command'] | CompoundList, frame: Frame, stdin: Stdin): string {
    switch (node.type) {
      case 'Command':
        return this.command(node, frame, stdin);
      case 'AndOr':
        return node.commands.map((command) => this.node(command, frame, stdin)).join('');
      case 'Pipeline':
        return this.pipeline(node.commands, frame, stdin);
      case 'CompoundList':
        return this.list(node, frame, stdin);
      case 'Subshell':
        return this.list(node.body, { ...frame, scope: forkScope(frame.scope) }, stdin);
      case 'BraceGroup':
        return this.list(node.body, frame, stdin);
      case 'If':
        return [node.clause, node.then, ...node.elif.flatMap((elif) => [elif.clause, elif.then]), node.else]
          .map((list) => (list === undefined ? '' : this.list(list, frame, stdin)))
          .join('');
      case 'While':
        if (isRunawayLoop(node))
          this.report(hit('bash_destructive', 'runaway-loop'), this.cause(node, frame));
        return this.list(node.clause, frame, stdin) + this.list(node.body, frame, stdin);
      case 'For':
      case 'Select':
        return this.loop(node.name, node.wordlist, node.body, frame, stdin);
      case 'ArithmeticFor':
        return this.list(node.body, frame, stdin);
      case 'Case':
        this.text(node.word, frame);
        return node.items.map((item) => this.list(item.body, frame, stdin)).join('');
      case 'Function':
        return this.define(node, frame);
      case 'Coproc':
        return this.node(node.body, frame, stdin);
      case 'Redirected':
        return this.redirected(node, frame, stdin);
      default:
        this.substitutionsIn(node, frame);
        return '';
    }
  }

  private pipeline(commands: readonly CommandNode[], frame: Frame, stdin: Stdin): string {
    let flowing = stdin;
    for (const command of commands) {
      flowing = this.node(command, { ...frame, scope: frame.scope }, flowing);
    }
    return flowing ?? '';
  }

  private loop(
    name: Word,
    words: readonly Word[] | undefined,
    body: CompoundList,
    frame: Frame,
    stdin: Stdin,
  ): string {
    const values = words?.flatMap((word) => this.fields(word, frame)) ?? [UNKNOWN];
    let output = '';
    for (const value of values.slice(0, MAX_LOOP_WORDS)) {
      frame.scope.variables.set(name.value, value);
      output += this.list(body, frame, stdin);
    }
    return output;
  }

  private define(node: Extract<CommandNode, { type: 'Function' }>, frame: Frame): string {
    if (isForkBomb(node)) this.report(hit('bash_destructive', 'fork-bomb'), this.cause(node, frame));
    // Judged where it stands, with arguments unknown, and again at each call with the real ones.
    const scope = { ...forkScope(frame.scope, null) };
    scope.functions.delete(node.name.value);
    this.node(node.body, { ...frame, scope }, undefined);
    frame.scope.functions.set(node.name.value, { node, source: frame.source });
    return '';
  }

  private redirected(node: Extract<CommandNode, { type: 'Redirected' }>, frame: Frame, stdin: Stdin): string {
    const given = this.inputOf(node.redirects, frame) ?? stdin;
    const output = this.node(node.command, frame, given);
    return this.outputThrough(node.redirects, node.command.type, output, frame);
  }

  private command(node: Command, frame: Frame, stdin: Stdin): string {
    const own = this.inputOf(node.redirects, frame) ?? stdin;
    const assigned = this.assignments(node, frame);
    const argv =
      node.name === undefined ? [] : [...this.fields(node.name, frame), ...this.arguments(node, frame)];
    const cause = this.cause(node, frame);
    if (argv.length === 0) {
      for (const [name, value] of assigned) frame.scope.variables.set(name, value);
      return this.outputThrough(node.redirects, '', '', frame);
    }
    for (const found of judgeEnvironment(assigned)) {
      this.runScript(found, forkScope(frame.scope), cause);
    }
    const output = this.runArgv(argv, frame.scope, cause, own);
    return this.outputThrough(node.redirects, argv[0] ?? '', output, frame, argv);
  }

  private assignments(node: Command, frame: Frame): [string, string][] {
    const assigned: [string, string][] = [];
    for (const part of node.prefix) {
      if (part.type !== 'Assignment') continue;
      const value =
        part.value.type === 'ArrayValue'
          ? part.value.elements.flatMap((word) => this.fields(word, frame)).join(' ')
          : this.text(part.value, frame);
      const before = part.append === true ? (frame.scope.variables.get(part.name) ?? '') : '';
      assigned.push([part.name, before + value]);
    }
    return assigned;
  }

  /** Arguments; `NAME=value` after export and the like is kept as one word and also remembered. */
  private arguments(node: Command, frame: Frame): string[] {
    return node.args.flatMap((argument) => {
      if (argument.type === 'Word') return this.fields(argument, frame);
      const value = argument.value.type === 'ArrayValue' ? UNKNOWN : this.text(argument.value, frame);
      if (DECLARES.has(node.name?.value ?? '')) frame.scope.variables.set(argument.name, value);
      return [`${argument.name}=${value}`];
    });
  }

  private inputOf(redirects: Command['redirects'], frame: Frame): Stdin {
    let input: Stdin;
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') {
        const { parts, text } = redirect.body;
        input = parts === undefined ? text : expandParts(parts, frame.scope, this.onSubstitution(frame));
      } else if (redirect.type === 'HereString') {
        input = redirect.target === undefined ? '' : this.text(redirect.target, frame);
      } else if (redirect.operator === '<' && redirect.target !== undefined) {
        const target = this.text(redirect.target, frame);
        if (target.startsWith(PROCESS)) input = target.slice(1);
        else input = target === '/dev/null' ? '' : (this.files.get(target) ?? input);
      }
    }
    return input;
  }

  private outputThrough(
    redirects: Command['redirects'],
    program: string,
    output: string,
    frame: Frame,
    argv: readonly string[] = [],
  ): string {
    let rest = output;
    for (const redirect of redirects) {
      if (redirect.type !== 'Redirect' || redirect.target === undefined) continue;
      const target = this.text(redirect.target, frame);
      const argvOfRedirect = [redirect.operator, target];
      const found = judgeRedirect({
        operator: redirect.operator,
        target,
        program,
        argv,
        output,
        scope: frame.scope,
      });
      const cause = this.cause(redirect, frame);
      const actionClass = found?.actionClass ?? 'file_read';
      this.commands.push({ argv: argvOfRedirect, cwd: frame.scope.cwd, actionClass, cause });
      if (found === null) continue;
      this.report(found, cause);
      if (redirect.operator !== '<' && redirect.descriptor === undefined) {
        this.files.set(target, redirect.operator === '>>' ? (this.files.get(target) ?? '') + output : output);
        rest = '';
      }
    }
    return rest;
  }

  private fields(word: Word, frame: Frame): string[] {
    return expandWord(word, frame.scope, this.onSubstitution(frame));
  }

  private text(word: Word, frame: Frame): string {
    return expandToText(word, frame.scope, this.onSubstitution(frame));
  }

  private onSubstitution(frame: Frame): (script: Script | undefined) => string {
    return (script) => {
      if (script === undefined) return UNKNOWN;
      if ('errors' in script && Array.isArray(script.errors) && script.errors.length > 0) {
        this.report(hit('bash_destructive', 'unparsable'), this.cause(script, frame));
      }
      return this.script(script, { ...frame, scope: forkScope(frame.scope) }, undefined);
    };
  }

  /** Substitutions in places that are not commands: `[[ $(x) ]]`, `(( $(x) ))`. */
  private substitutionsIn(node: SyntaxNode, frame: Frame): void {
    if (node.type === 'Word') this.text(node, frame);
    else if ('script' in node) this.onSubstitution(frame)(node.script);
    else forEachChild(node, (child) => this.substitutionsIn(child, frame));
  }

  private cause(node: { pos: number; end: number }, frame: Frame): string {
    const text = frame.source.slice(node.pos, node.end).trim();
    return text !== '' && this.line.includes(text) ? text : frame.outerCause;
  }
}

const DECLARES = new Set(['export', 'declare', 'local', 'readonly', 'typeset']);

/** Quotes a word so that it survives being parsed again. */
function quote(word: string): string {
  return /^[\w./:=@%+,*?~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
