/** Colours of a terminal as classes. What an agent prints is text: a sequence that is no colour is removed. */
export interface AnsiStyle {
  /** 0 to 15; null for the default. */
  readonly foreground: number | null;
  readonly background: number | null;
  readonly isBold: boolean;
  readonly isDim: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
}

export interface AnsiSpan {
  readonly text: string;
  readonly style: AnsiStyle;
}

export const PLAIN: AnsiStyle = {
  ...{ foreground: null, background: null, isBold: false },
  ...{ isDim: false, isItalic: false, isUnderlined: false },
};

/** CSI, OSC and the other escapes, and control characters that draw nothing. An unfinished one goes to the end. */
const SEQUENCE =
  /\u001b\[([0-9;:?<=>!]*)([ -/]*[@-~])?|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;
/** A line of colours only costs no more than this. */
const MAX_SPANS = 500;

export function parseAnsi(line: string, start: AnsiStyle = PLAIN): { spans: AnsiSpan[]; end: AnsiStyle } {
  const spans: AnsiSpan[] = [];
  let style = start;
  let from = 0;
  for (const found of line.matchAll(SEQUENCE)) {
    addSpan(spans, line.slice(from, found.index), style);
    from = found.index + found[0].length;
    if (found[2] === 'm') style = applyCodes(style, found[1] ?? '');
  }
  addSpan(spans, line.slice(from), style);
  return { spans, end: style };
}

/** What a line shows after its carriage returns: a progress bar leaves its last state. */
export function lastOverwrite(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf('\r') + 1);
}

/** The names of the classes of a style. */
export function classOf(style: AnsiStyle): string {
  return [
    style.foreground === null ? '' : `ansi-f${style.foreground}`,
    style.background === null ? '' : `ansi-b${style.background}`,
    style.isBold ? 'ansi-bold' : '',
    style.isDim ? 'ansi-dim' : '',
    style.isItalic ? 'ansi-italic' : '',
    style.isUnderlined ? 'ansi-underlined' : '',
  ]
    .filter((name) => name !== '')
    .join(' ');
}

function addSpan(spans: AnsiSpan[], text: string, style: AnsiStyle): void {
  if (text === '') return;
  const last = spans.at(-1);
  if (last !== undefined && (last.style === style || spans.length >= MAX_SPANS))
    spans[spans.length - 1] = { text: last.text + text, style: last.style };
  else spans.push({ text, style });
}

function applyCodes(style: AnsiStyle, text: string): AnsiStyle {
  const codes = text.split(/[;:]/).slice(0, 64).map(Number);
  let next = style;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      const { colour, used } = readLongColour(codes.slice(index + 1));
      next = code === 38 ? { ...next, foreground: colour } : { ...next, background: colour };
      index += used;
    } else next = applyCode(next, code);
  }
  return next;
}

function applyCode(style: AnsiStyle, code: number): AnsiStyle {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, isBold: true };
  if (code === 2) return { ...style, isDim: true };
  if (code === 3) return { ...style, isItalic: true };
  if (code === 4) return { ...style, isUnderlined: true };
  if (code === 22) return { ...style, isBold: false, isDim: false };
  if (code === 23) return { ...style, isItalic: false };
  if (code === 24) return { ...style, isUnderlined: false };
  if (code === 39) return { ...style, foreground: null };
  if (code === 49) return { ...style, background: null };
  if (code >= 30 && code <= 37) return { ...style, foreground: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, foreground: code - 82 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 92 };
  return style;
}

/** The page has 16 colours that can be read on its background: any other becomes one of them, or the default. */
function readLongColour(codes: readonly number[]): { colour: number | null; used: number } {
  if (codes[0] === 5) return { colour: nearest256(codes[1] ?? 0), used: 2 };
  if (codes[0] === 2) return { colour: nearestRgb(codes[1] ?? 0, codes[2] ?? 0, codes[3] ?? 0), used: 4 };
  return { colour: null, used: 0 };
}

function nearest256(value: number): number | null {
  if (value < 16) return value;
  if (value >= 232) return null;
  const cube = value - 16;
  return nearestRgb(Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51);
}

function nearestRgb(red: number, green: number, blue: number): number | null {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 32) return null;
  const bit = (part: number) => (part > most * 0.6 ? 1 : 0);
  return (most > 190 ? 8 : 0) + bit(red) + bit(green) * 2 + bit(blue) * 4;
}
