/**
 * Walks a parsed line the way a shell would run it, without running it. Every simple command is expanded and judged;
 * variables that the line sets are known to later commands. No branch is skipped.
 */
import type { Command, CommandNode, CompoundList, Script, Statement, Word } from 'unbash';
import type { CommandInspector } from './command-inspector.ts';
import { hit } from './finding.ts';
import { FrameExpander } from './frame-expander.ts';
import type { Frame } from './frame.ts';
import type { Stdin } from './inspector.ts';
import {
  exportsOf,
  injectsCode,
  injectsLibrary,
  judgeEnvironment,
  takeProcessAssignment,
} from './judge-environment.ts';
import { judgeRedirect } from './redirections.ts';
import { withLaterTemporaries } from './later-temporary.ts';
import { distinctWords } from './loop-words.ts';
import { readsTarget } from './own-input.ts';
import { isForkBomb, isRunawayCount, isRunawayLoop, isRunawayRow } from './runaway.ts';
import { forkScope, setVariable, withVariables } from './shell-scope.ts';
import { judgeWritten } from './written-content.ts';
import { UNKNOWN, UNTRUSTED } from './unknown-text.ts';

/** Programs that run their input as code. */
const RUNS_STDIN =
  /(^|\/)(sudo|env|xargs|parallel|(ba|z|da|k|a)?sh|python[\d.]*|node|perl|ruby|php|psql|mysql|sqlite3)$/;

export class ScriptWalker {
  private readonly inspector: CommandInspector;
  private readonly words: FrameExpander;

  constructor(inspector: CommandInspector) {
    this.inspector = inspector;
    this.words = new FrameExpander(
      (script, frame, stdin) => this.substitution(script, frame, stdin),
      inspector.files,
    );
  }

  script(script: Script, frame: Frame, stdin: Stdin): string {
    const inner = script.source === undefined ? frame : { ...frame, source: script.source };
    return this.statements(script.commands, inner, stdin);
  }

  node(node: Statement['command'] | CompoundList, frame: Frame, stdin: Stdin): string {
    this.inspector.spendSteps();
    switch (node.type) {
      case 'Command':
        return this.command(node, frame, stdin);
      case 'AndOr':
        return node.commands.map((command) => this.node(command, frame, stdin)).join('');
      case 'Pipeline':
        return this.pipeline(node.commands, this.pipelineFrame(node, frame), stdin);
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
          this.inspector.report(hit('bash_destructive', 'runaway-loop'), this.cause(node, frame));
        return this.list(node.clause, frame, stdin) + this.list(node.body, frame, stdin);
      case 'For':
      case 'Select':
        return this.loop(node.name, node.wordlist, node.body, frame, stdin);
      case 'ArithmeticFor':
        if (isRunawayCount(node))
          this.inspector.report(hit('bash_destructive', 'runaway-loop'), this.cause(node, frame));
        return this.list(node.body, frame, stdin);
      case 'Case':
        this.words.text(node.word, frame);
        return node.items.map((item) => this.list(item.body, frame, stdin)).join('');
      case 'Function':
        return this.define(node, frame);
      case 'Coproc':
        return this.node(node.body, frame, stdin);
      case 'Redirected':
        return this.redirected(node, frame, stdin);
      default:
        this.words.substitutionsIn(node, frame);
        return '';
    }
  }

  private statements(statements: readonly Statement[], frame: Frame, stdin: Stdin): string {
    let output = '';
    for (const statement of statements) output += this.node(statement.command, frame, stdin);
    return output;
  }

  private list(list: CompoundList, frame: Frame, stdin: Stdin): string {
    return this.statements(list.commands, frame, stdin);
  }

  private pipeline(commands: readonly CommandNode[], frame: Frame, stdin: Stdin): string {
    let flowing = stdin;
    for (const command of commands) {
      flowing = this.node(command, frame, flowing);
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
    if (words !== undefined && isRunawayRow(words, body))
      this.inspector.report(hit('bash_destructive', 'runaway-loop'), this.cause(body, frame));
    const values = words?.flatMap((word) => this.words.fields(word, frame)) ?? [UNKNOWN];
    let output = '';
    for (const value of distinctWords(values)) {
      frame.scope.variables.set(name.value, value);
      output += this.list(body, frame, stdin);
    }
    return output;
  }

  private define(node: Extract<CommandNode, { type: 'Function' }>, frame: Frame): string {
    if (isForkBomb(node))
      this.inspector.report(hit('bash_destructive', 'fork-bomb'), this.cause(node, frame));
    // Judged where it stands, with arguments unknown, and again at each call with the real ones.
    const scope = { ...withLaterTemporaries(frame.scope, this.inspector.line), positional: null };
    scope.functions.delete(node.name.value);
    const found = this.inspector.collect(() => this.node(node.body, { ...frame, scope }, undefined));
    // Text that is only known at a call is judged there: `f() { eval "$1"; }` runs nothing yet.
    for (const finding of found)
      if (finding.rule !== 'eval-unknown') this.inspector.report(finding, finding.cause);
    frame.scope.functions.set(node.name.value, { node, source: frame.source });
    return '';
  }

  private redirected(node: Extract<CommandNode, { type: 'Redirected' }>, frame: Frame, stdin: Stdin): string {
    const given = this.words.inputOf(node.redirects, frame) ?? stdin;
    const output = this.node(node.command, frame, given);
    return this.outputThrough(node.redirects, node.command.type, output, frame);
  }

  private command(node: Command, frame: Frame, stdin: Stdin): string {
    const own = this.words.inputOf(node.redirects, frame) ?? stdin;
    const assigned = this.words.assignments(node, frame);
    const argv =
      node.name === undefined
        ? []
        : [...this.words.fields(node.name, frame), ...this.words.arguments(node, frame)];
    takeProcessAssignment(node, assigned, argv);
    const runsStdin = own !== undefined && RUNS_STDIN.test(argv[0] ?? '');
    const cause = (runsStdin ? frame.pipelineText : undefined) ?? this.cause(node, frame);
    if (argv.length === 0) {
      for (const [name, value] of assigned) setVariable(frame.scope, name, value);
      this.environment(assigned, frame, cause);
      // `$(<file)` is the content of a file.
      const reads = node.redirects.some(
        (redirect) => redirect.type === 'Redirect' && redirect.operator === '<',
      );
      if (reads) return own ?? UNTRUSTED;
      return this.outputThrough(node.redirects, '', '', frame);
    }
    const exported = exportsOf(argv);
    this.environment([...assigned, ...exported], frame, cause);
    const passed = /^(?:env|sudo|doas)$/.test(argv[0] ?? '') ? [...assigned, ...exported] : assigned;
    const output = withVariables(frame.scope, passed, () =>
      this.inspector.runArgv(argv, frame.scope, cause, own),
    );
    return this.outputThrough(node.redirects, argv[0] ?? '', output, frame, argv);
  }

  private environment(assigned: readonly (readonly [string, string])[], frame: Frame, cause: string): void {
    for (const found of judgeEnvironment(assigned, frame.scope)) {
      this.inspector.runScript(found, forkScope(frame.scope), cause);
    }
    if (assigned.some(([name, value]) => injectsLibrary(name, value)))
      this.inspector.report(hit('bash_destructive', 'injected-library'), cause);
    if (assigned.some(([name, value]) => injectsCode(name, value, frame.scope)))
      this.inspector.report(hit('bash_destructive', 'injected-code'), cause);
  }

  private outputThrough(
    redirects: Command['redirects'],
    program: string,
    output: string,
    frame: Frame,
    argv: readonly string[] = [],
  ): string {
    let rest = output;
    this.inspector.spendSteps(redirects.length); // each is compared with all
    for (const redirect of redirects) {
      if (redirect.type !== 'Redirect' || redirect.target === undefined) continue;
      const target = this.words.text(redirect.target, frame);
      const argvOfRedirect = [redirect.operator, target];
      const found = judgeRedirect({
        operator: redirect.operator,
        target,
        program,
        argv,
        output,
        isRead: readsTarget(target, redirects, this.inspector.commands.slice(frame.pipelineFrom ?? Infinity)),
        scope: frame.scope,
      });
      const cause = this.cause(redirect, frame);
      const actionClass = found?.actionClass ?? 'file_read';
      this.inspector.commands.push({ argv: argvOfRedirect, cwd: frame.scope.cwd, actionClass, cause });
      if (found === null) continue;
      this.inspector.report(found, cause);
      if (redirect.operator !== '<' && redirect.descriptor === undefined) {
        this.inspector.files.set(
          target,
          redirect.operator === '>>' ? (this.inspector.files.get(target) ?? '') + output : output,
        );
        judgeWritten(target, output, { inspector: this.inspector, scope: frame.scope, cause });
        rest = '';
      }
    }
    return rest;
  }

  private pipelineFrame(node: { pos: number; end: number }, frame: Frame): Frame {
    return {
      ...frame,
      pipelineText: this.cause(node, frame),
      pipelineFrom: this.inspector.commands.length,
    };
  }

  private substitution(
    script: Script & { readonly errors?: readonly unknown[] | undefined },
    frame: Frame,
    stdin: Stdin,
  ): string {
    if (script.errors !== undefined && script.errors.length > 0) {
      this.inspector.report(hit('bash_destructive', 'unparsable'), this.cause(script, frame));
    }
    return this.script(script, { ...frame, scope: forkScope(frame.scope) }, stdin);
  }

  private cause(node: { pos: number; end: number }, frame: Frame): string {
    const text = frame.source.slice(node.pos, node.end).trim();
    return text !== '' && this.inspector.line.includes(text) ? text : frame.outerCause;
  }
}
