/**
 * The only text that reaches a terminal as it is. A line is a plain string, which the output shows as one line with
 * everything escaped, or a `Painted`, which is made here and nowhere else: from escaped text, and from our styles. A
 * line break is never part of a line; a text of several lines is a list.
 */
import { widthOf } from './format-values.ts';
import { printable, printableLines } from './printable.ts';
import { wrapText } from './wrap-text.ts';

let make: (plain: string, painted: string) => Painted;
let paintedOf: (line: Painted) => string;

export class Painted {
  /** Without styles. */
  readonly plain: string;
  readonly #painted: string;

  /** Both must be printable except for our styles; only this file knows that they are. */
  private constructor(plain: string, painted: string) {
    this.plain = plain;
    this.#painted = painted;
  }

  static {
    make = (plain, painted) => new Painted(plain, painted);
    paintedOf = (line) => line.#painted;
  }

  /** In a foreign template only the styles are lost. */
  toString(): string {
    return this.plain;
  }
}

export type Line = string | Painted;
export type Lines = readonly Line[];

/** The bytes for a stream that shows styles, or for one that does not. */
export function render(line: Line, hasStyles: boolean): string {
  if (typeof line === 'string') return printable(line);
  return hasStyles ? paintedOf(line) : line.plain;
}

/** Columns that it takes on a terminal. */
export function widthOfLine(line: Line): number {
  return widthOf(render(line, false));
}

/** The line with blanks after it. */
export function padLine(line: Line, columns: number): Painted {
  return joinLine([line, ' '.repeat(Math.max(0, columns - widthOfLine(line)))], '');
}

/** A template for a line: values are escaped, unless they are already painted. */
export function line(texts: TemplateStringsArray, ...values: readonly (Line | number)[]): Painted {
  const parts = texts.flatMap((text, index) => [
    text,
    ...(index < values.length ? [toLine(values[index] ?? '')] : []),
  ]);
  return joinLine(parts, '');
}

/**
 * The line broken between words, what follows the first part after so many blanks; whole where there is no width, as in
 * a pipe. Styles stay in the first part.
 */
export function wrapLine(given: Line, columns: number, indent: number): Lines {
  if (widthOfLine(given) <= columns) return [given];
  const plain = render(given, false);
  const [first = ''] = wrapText(plain, columns);
  const rest = wrapText(plain.slice(first.length).trimStart(), columns - indent);
  return [
    make(first, cutPainted(render(given, true), first.length)),
    ...rest.map((text) => line`${' '.repeat(indent)}${text}`),
  ];
}

/** The first characters with their styles; one that goes on behind them ends there. */
function cutPainted(painted: string, length: number): string {
  let cut = '';
  let room = length;
  for (const part of painted.split(STYLES)) {
    const isStyle = part.startsWith('\u001b');
    cut += isStyle ? part : part.slice(0, room);
    if (!isStyle) room -= Math.min(room, part.length);
    if (room === 0) break;
  }
  return STYLES.test(cut) ? `${cut}\u001b[22m\u001b[39m` : cut;
}

/** Escaped text has none of these. */
const STYLES = /(\u001b\[\d+m)/;

/** Parts of one line. */
export function joinLine(parts: Lines, separator: string): Painted {
  return make(
    parts.map((part) => render(part, false)).join(printable(separator)),
    parts.map((part) => render(part, true)).join(printable(separator)),
  );
}

/** The lines of a foreign text, each after `indent`. */
export function textLines(text: string, indent = ''): Painted[] {
  return printableLines(text).map((plain) => make(printable(indent) + plain, printable(indent) + plain));
}

/** Groups of lines with an empty line between them. */
export function separate(groups: readonly Lines[]): Lines {
  return groups.flatMap((group, index) => (index === 0 ? group : ['', ...group]));
}

/** One foreign line, complete and with its tabs. */
export function exactLine(text: string): Painted {
  const plain = text.split('\t').map(printable).join('\t');
  return make(plain, plain);
}

export interface Style {
  bold(text: Line): Painted;
  dim(text: Line): Painted;
  red(text: Line): Painted;
  green(text: Line): Painted;
  yellow(text: Line): Painted;
  inverse(text: Line): Painted;
}

export const STYLE: Style = {
  bold: createPaint(1, 22),
  dim: createPaint(2, 22),
  red: createPaint(31, 39),
  green: createPaint(32, 39),
  yellow: createPaint(33, 39),
  inverse: createPaint(7, 27),
};

function createPaint(open: number, close: number): (text: Line) => Painted {
  return (text) => make(render(text, false), `\u001b[${open}m${render(text, true)}\u001b[${close}m`);
}

function toLine(value: Line | number): Line {
  return typeof value === 'number' ? String(value) : value;
}
