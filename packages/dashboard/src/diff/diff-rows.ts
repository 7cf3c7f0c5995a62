/** A patch as rows of one height: the open files, their hunks, lines and comments. */
import { commentKey, type Comments, type LineComment } from './comments.ts';
import type { PatchFile, PatchHunk, PatchLine } from './parse-patch.ts';

export type DiffRow =
  | { readonly kind: 'file'; readonly file: PatchFile; readonly isOpen: boolean }
  | { readonly kind: 'hunk'; readonly file: PatchFile; readonly hunk: PatchHunk }
  | { readonly kind: 'line'; readonly file: PatchFile; readonly line: PatchLine }
  | { readonly kind: 'comment'; readonly comment: LineComment }
  | { readonly kind: 'remark'; readonly text: string };

const BIG_FILE = 400;
const BIG_PATCH = 3000;

/** Big files, and all that follow after many lines, are closed at first. */
export function findOpenAtFirst(files: readonly PatchFile[]): ReadonlySet<string> {
  const open = new Set<string>();
  let lines = 0;
  for (const file of files) {
    const size = file.added + file.removed;
    lines += size;
    if (size <= BIG_FILE && lines <= BIG_PATCH) open.add(file.path);
  }
  return open;
}

export function toDiffRows(
  files: readonly PatchFile[],
  open: ReadonlySet<string>,
  comments: Comments,
): DiffRow[] {
  const rows: DiffRow[] = [];
  for (const file of files) {
    const isOpen = open.has(file.path);
    rows.push({ kind: 'file', file, isOpen });
    if (isOpen) addFile(rows, file, comments);
  }
  return rows;
}

function addFile(rows: DiffRow[], file: PatchFile, comments: Comments): void {
  if (file.oldPath !== file.path && file.change !== 'added')
    rows.push({ kind: 'remark', text: `was ${file.oldPath}` });
  if (file.isBinary) rows.push({ kind: 'remark', text: 'a binary file' });
  else if (file.hunks.length === 0) rows.push({ kind: 'remark', text: 'no line is changed' });
  for (const hunk of file.hunks) {
    rows.push({ kind: 'hunk', file, hunk });
    for (const line of hunk.lines) addLine(rows, file, line, comments);
  }
  if (file.hiddenLines > 0)
    rows.push({
      kind: 'remark',
      text: `${file.hiddenLines.toLocaleString('en-US')} more lines are not shown`,
    });
}

function addLine(rows: DiffRow[], file: PatchFile, line: PatchLine, comments: Comments): void {
  rows.push({ kind: 'line', file, line });
  const place = placeOf(file, line);
  const comment = place === null || comments.size === 0 ? undefined : comments.get(commentKey(place));
  if (comment !== undefined) rows.push({ kind: 'comment', comment });
}

export function placeOf(file: PatchFile, line: PatchLine): Omit<LineComment, 'text'> | null {
  const { oldNumber, newNumber, text: code } = line;
  if (newNumber !== null) return { path: file.path, line: newNumber, side: 'new', code };
  return oldNumber === null ? null : { path: file.path, line: oldNumber, side: 'old', code };
}
