/**
 * Turns a word of the shell into the fields it would become: quotes removed, names that the line itself set replaced,
 * braces expanded, unquoted values split. Globs stay as written. A part that only a run could reveal becomes UNKNOWN.
 */
import {
  forEachChild,
  type DoubleQuotedChild,
  type Script,
  type SyntaxNode,
  type Word,
  type WordPart,
} from 'unbash';
import { expandBraces } from './brace-expansion.ts';
import { expandParameter, lookUp } from './expand-parameter.ts';
import type { Stdin } from './inspector.ts';
import type { ShellScope } from './shell-scope.ts';
import { WorkLimitError } from './work-limit-error.ts';
import { LIST_BREAK, PROCESS, UNKNOWN, UNTRUSTED } from './unknown-text.ts';

/** Called for each `$( )`, backtick or `<( )`: judges the script and returns its output as far as known. */
export type OnSubstitution = (script: Script | undefined, stdin?: Stdin) => string;

const MAX_PARTS = 250;
const MAX_FIELDS = 512;
const MAX_TEXT = 400_000;

interface Piece {
  readonly text: string;
  /** Whether the shell would split this piece at blanks. */
  readonly splits: boolean;
  /** In quotes only the elements of a list are separate. */
  readonly isQuoted?: boolean;
  readonly alternatives?: readonly string[];
}

/** The fields of a word; none when it expands to nothing. */
export function expandWord(word: Word, scope: ShellScope, onSubstitution: OnSubstitution): string[] {
  if (word.parts === undefined) return [word.value];
  if (word.parts.length > MAX_PARTS) throw new WorkLimitError('a word of too many parts');
  const pieces = word.parts.map((part) => expandPart(part, scope, onSubstitution));
  return joinPieces(pieces);
}

/** The word as one string, as in an assignment or a redirection. */
export function expandToText(word: Word, scope: ShellScope, onSubstitution: OnSubstitution): string {
  if (word.parts === undefined) return word.value;
  if (word.parts.length > MAX_PARTS) throw new WorkLimitError('a word of too many parts');
  return asText(word.parts.map((part) => expandPart(part, scope, onSubstitution).text).join(''));
}

/** The text of a here-document body. */
export function expandParts(
  parts: readonly WordPart[],
  scope: ShellScope,
  onSubstitution: OnSubstitution,
): string {
  let text = '';
  for (const part of parts) {
    text += asText(expandPart(part, scope, onSubstitution).text);
    if (text.length > MAX_TEXT) throw new WorkLimitError('a here-document that grows without end');
  }
  return text;
}

const LISTED = /\uE006/;
const BLANK = /[\s\uE006]+/;

/** The elements of a list, one blank between. */
function asText(text: string): string {
  return text.replaceAll(LIST_BREAK, ' ');
}

function joinPieces(pieces: readonly Piece[]): string[] {
  let fields: string[] = [''];
  let isEmpty = true;
  for (const piece of pieces) {
    if (piece.alternatives !== undefined) {
      const alternatives = piece.alternatives;
      if (fields.length * alternatives.length > MAX_FIELDS)
        throw new WorkLimitError('too many brace alternatives');
      fields = fields.flatMap((field) => alternatives.map((alternative) => field + alternative));
      isEmpty = false;
    } else if (piece.splits && (piece.isQuoted === true ? LISTED : BLANK).test(piece.text)) {
      const [first = '', ...rest] = piece.text.split(piece.isQuoted === true ? LISTED : BLANK);
      fields = [...fields.slice(0, -1), (fields.at(-1) ?? '') + first, ...rest];
      isEmpty = false;
    } else {
      fields = fields.map((field, index) => (index === fields.length - 1 ? field + piece.text : field));
      if (piece.text !== '' || !piece.splits) isEmpty = false;
    }
  }
  return isEmpty ? [] : dropSplitBlanks(fields, pieces);
}

/** Splitting leaves empty fields at the ends of ` a `; quoting keeps them. */
function dropSplitBlanks(fields: string[], pieces: readonly Piece[]): string[] {
  return pieces.some((piece) => piece.splits) ? fields.filter((field) => field !== '') : fields;
}

function expandPart(
  part: WordPart | DoubleQuotedChild,
  scope: ShellScope,
  onSubstitution: OnSubstitution,
): Piece {
  switch (part.type) {
    case 'Literal':
    case 'Glob':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return { text: part.value, splits: false };
    case 'DoubleQuoted':
    case 'LocaleString':
      return expandQuoted(part.parts, scope, onSubstitution);
    case 'SimpleExpansion':
      return { text: withBlanks(lookUp(part.text.slice(1), scope), scope), splits: true };
    case 'ParameterExpansion':
      return {
        text: expandParameter(part, scope, (word) => expandToText(word, scope, onSubstitution)),
        splits: true,
      };
    case 'CommandExpansion':
      return { text: onSubstitution(part.script).replace(/\n+$/, ''), splits: true };
    case 'ProcessSubstitution':
      // The command before `>(sh)` writes to it.
      return {
        text: PROCESS + onSubstitution(part.script, part.operator === '>' ? UNTRUSTED : undefined),
        splits: false,
      };
    case 'ArithmeticExpansion':
      visitSubstitutions(part, onSubstitution);
      return { text: UNKNOWN, splits: false };
    case 'BraceExpansion':
      return { text: part.text, splits: false, alternatives: expandBraces(part.text) };
    case 'ExtendedGlob':
      return { text: '*', splits: false };
    default:
      return { text: UNKNOWN, splits: false };
  }
}

function expandQuoted(
  parts: readonly DoubleQuotedChild[],
  scope: ShellScope,
  onSubstitution: OnSubstitution,
): Piece {
  const text = parts.map((child) => expandPart(child, scope, onSubstitution).text).join('');
  return isListExpansion(parts)
    ? { text, splits: true, isQuoted: true }
    : { text: asText(text), splits: false };
}

/** A line that sets IFS splits at other characters. */
function withBlanks(text: string, scope: ShellScope): string {
  const separators = scope.variables.get('IFS');
  if (separators === undefined || separators === '') return text;
  return [...text].map((char) => (separators.includes(char) ? ' ' : char)).join('');
}

/** `$(( $(x) ))` runs x. */
function visitSubstitutions(node: SyntaxNode, onSubstitution: OnSubstitution): void {
  if (node.type === 'CommandExpansion' || node.type === 'ArithmeticCommandExpansion')
    onSubstitution(node.script);
  else forEachChild(node, (child) => visitSubstitutions(child, onSubstitution));
}

/** `"$@"` and `"${list[@]}"` give one field for each element, quoted or not. */
function isListExpansion(parts: readonly DoubleQuotedChild[]): boolean {
  const [only, ...others] = parts;
  if (only === undefined || others.length > 0) return false;
  return only.type === 'SimpleExpansion'
    ? only.text === '$@'
    : /^\$\{(@|\w+\[@\])(?::[^}]*)?\}$/.test(only.text);
}
