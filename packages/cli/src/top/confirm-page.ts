/** The page on which a person confirms: the whole of what it is about, wrapped and scrolled. */
import type { ScreenSize } from '../full-screen.ts';
import { line, textLines, wrapLine, type Line, type Lines, type Style } from '../painted.ts';
import type { Question } from './top-state.ts';

const TITLES: Readonly<Record<Question['kind'], string>> = {
  cancel: 'Cancel this run? Its work is kept.',
  allow: 'Allow this call?',
  deny: 'Deny this call? The agent goes on without it.',
};
/** Title, the id, two empty lines, the message and the keys. */
const OTHER_ROWS = 6;

export function confirmRoom({ rows }: ScreenSize): number {
  return Math.max(1, rows - OTHER_ROWS);
}

export function countConfirmLines(question: Question, size: ScreenSize): number {
  return linesOf(question, size).length;
}

export function drawConfirm(
  question: Question,
  { scroll, message }: { readonly scroll: number; readonly message: string },
  size: ScreenSize,
  style: Style,
): Lines {
  const lines = linesOf(question, size);
  const room = confirmRoom(size);
  const below = Math.max(0, lines.length - scroll - room);
  const body: Line[] = Array.from({ length: room }, (_, row) => lines[scroll + row] ?? '');
  const more = below === 0 ? message : `${message} ${below} more lines below`.trim();
  return [
    style.bold(TITLES[question.kind]),
    style.dim(question.runId),
    '',
    ...body,
    '',
    style.yellow(more),
    line`${style.bold('y')} yes   any other key: no   ${style.dim('up/down scroll')}`,
  ];
}

function linesOf({ text }: Question, { columns }: ScreenSize): Lines {
  return textLines(text.replaceAll('\t', '    '), '  ').flatMap((each) => wrapLine(each, columns - 1, 2));
}
