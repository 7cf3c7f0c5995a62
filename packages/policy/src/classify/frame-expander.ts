/** Expands the words of one frame, judging the substitutions in them on the way. */
import { forEachChild, type ArrayValue, type Command, type Script, type SyntaxNode, type Word } from 'unbash';
import { expandParts, expandToText, expandWord, type OnSubstitution } from './expand-word.ts';
import type { Frame } from './frame.ts';
import type { Stdin } from './inspector.ts';
import { markedContent } from './secret-flow.ts';
import { LIST_BREAK, PROCESS, REFERENCE, UNKNOWN } from './unknown-text.ts';
import type { WrittenFiles } from './written-files.ts';

/** Judges the script of a substitution and returns its output as far as that is known. */
export type RunSubstitution = (script: Script, frame: Frame, stdin: Stdin) => string;

export class FrameExpander {
  private readonly runSubstitution: RunSubstitution;
  private readonly files: WrittenFiles;

  constructor(runSubstitution: RunSubstitution, files: WrittenFiles) {
    this.runSubstitution = runSubstitution;
    this.files = files;
  }

  fields(word: Word, frame: Frame): string[] {
    return expandWord(word, frame.scope, this.onSubstitution(frame));
  }

  text(word: Word, frame: Frame): string {
    return expandToText(word, frame.scope, this.onSubstitution(frame));
  }

  assignments(node: Command, frame: Frame): [string, string][] {
    const assigned: [string, string][] = [];
    for (const part of node.prefix) {
      if (part.type !== 'Assignment') continue;
      if (part.index !== undefined) this.text(part.index, frame);
      const value = this.valueOf(part.value, frame);
      const isElement = part.index !== undefined || (part.append === true && part.value.type !== 'Word');
      const known =
        assigned.find(([name]) => name === part.name)?.[1] ?? frame.scope.variables.get(part.name);
      const before = isElement || part.append === true ? (known ?? '') : '';
      assigned.push([part.name, isElement && before !== '' ? before + LIST_BREAK + value : before + value]);
    }
    return assigned;
  }

  /** Arguments; `NAME=value` after export and the like is kept as one word and also remembered. */
  arguments(node: Command, frame: Frame): string[] {
    return glueProcesses(node.args).flatMap((argument) => {
      if (Array.isArray(argument)) return [argument.map((word) => this.text(word, frame)).join('')];
      if (argument.type === 'Word') return this.fields(argument, frame);
      const value = this.valueOf(argument.value, frame);
      if (DECLARES.has(node.name?.value ?? '')) {
        const isReference = node.args.some((word) => word.type === 'Word' && /^-[a-z]*n/.test(word.value));
        frame.scope.variables.set(argument.name, isReference ? REFERENCE + value : value);
      }
      return [`${argument.name}=${value}`];
    });
  }

  inputOf(redirects: Command['redirects'], frame: Frame): Stdin {
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
        else input = target === '/dev/null' ? '' : (markedContent(target, this.files) ?? input);
      }
    }
    return input;
  }

  /** Substitutions in places that are not commands: `[[ $(x) ]]`, `(( $(x) ))`. */
  substitutionsIn(node: SyntaxNode, frame: Frame): void {
    if (node.type === 'Word') this.text(node, frame);
    else if ('script' in node) this.onSubstitution(frame)(node.script);
    else forEachChild(node, (child) => this.substitutionsIn(child, frame));
  }

  /** A list is kept as its elements with a mark between. */
  private valueOf(value: Word | ArrayValue, frame: Frame): string {
    if (value.type === 'Word') return this.text(value, frame);
    return value.elements
      .flatMap((word) => this.fields(word, frame).map((text) => text.replace(/^\[[^\]]*\]=/, '')))
      .join(LIST_BREAK);
  }

  private onSubstitution(frame: Frame): OnSubstitution {
    return (script, stdin) => (script === undefined ? UNKNOWN : this.runSubstitution(script, frame, stdin));
  }
}

const DECLARES = new Set(['export', 'declare', 'local', 'readonly', 'typeset']);

/** `A=<(cmd)` as an argument: the parser gives two words without a blank between, the shell one. */
function glueProcesses(args: Command['args']): (Command['args'][number] | Word[])[] {
  const glued: (Command['args'][number] | Word[])[] = [];
  for (const argument of args) {
    const before = glued.at(-1);
    const isTail = argument.type === 'Word' && argument.parts?.[0]?.type === 'ProcessSubstitution';
    const touches =
      before !== undefined && !Array.isArray(before) && before.type === 'Word' && before.end === argument.pos;
    if (isTail && touches) glued[glued.length - 1] = [before, argument];
    else glued.push(argument);
  }
  return glued;
}
