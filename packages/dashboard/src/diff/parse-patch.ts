/** Reads a patch in git's form. Its text is the agent's: nothing in it is trusted, and everything is limited. */
import { decodeGitPath, parseHeaderPaths } from './git-path.ts';

export type LineKind = 'context' | 'added' | 'removed' | 'note';

export interface PatchLine {
  readonly kind: LineKind;
  readonly text: string;
  readonly oldNumber: number | null;
  readonly newNumber: number | null;
}

export interface PatchHunk {
  /** From 1, as they come in the patch of the file. */
  readonly number: number;
  readonly header: string;
  readonly lines: readonly PatchLine[];
}

export type FileChange = 'added' | 'deleted' | 'renamed' | 'copied' | 'mode' | 'changed';

export interface PatchFile {
  /** The name after the change; the old one of a deleted file. */
  readonly path: string;
  readonly oldPath: string;
  readonly change: FileChange;
  readonly isBinary: boolean;
  readonly hunks: readonly PatchHunk[];
  readonly added: number;
  readonly removed: number;
  /** Lines that the page does not show. */
  readonly hiddenLines: number;
}

/** More lines of one file are counted and not shown. */
export const MAX_FILE_LINES = 20_000;

interface OpenFile {
  path: string;
  oldPath: string;
  change: FileChange;
  isBinary: boolean;
  hunks: { number: number; header: string; lines: PatchLine[] }[];
  added: number;
  removed: number;
  shown: number;
  hiddenLines: number;
}

export function parsePatch(text: string): PatchFile[] {
  const reader = new PatchReader();
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start);
    const stop = end === -1 ? text.length : end;
    reader.readLine(text.slice(start, stop));
    start = stop + 1;
  }
  return reader.files.map(({ shown: _shown, ...file }) => file);
}

class PatchReader {
  readonly files: OpenFile[] = [];
  #left = { old: 0, new: 0 };
  #at = { old: 0, new: 0 };

  readLine(line: string): void {
    const file = this.files.at(-1);
    // Inside a hunk its own counts decide what a line is, so no content can look like a header.
    if (file !== undefined && (this.#left.old > 0 || this.#left.new > 0))
      return this.#readContent(file, line);
    if (line.startsWith('diff --git ')) return this.#startFile(line);
    if (file === undefined) return;
    if (line.startsWith('@@ ')) return this.#startHunk(file, line);
    if (line.startsWith('\\')) return this.#note(file, line);
    readHeader(file, line);
  }

  #startFile(line: string): void {
    const { oldPath, path } = parseHeaderPaths(line.slice('diff --git '.length));
    this.files.push({
      ...{ path, oldPath, change: 'changed', isBinary: false, hunks: [] },
      ...{ added: 0, removed: 0, shown: 0, hiddenLines: 0 },
    });
  }

  #startHunk(file: OpenFile, line: string): void {
    const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (found === null) return;
    const [, oldStart, oldCount = '1', newStart, newCount = '1'] = found;
    this.#at = { old: Number(oldStart), new: Number(newStart) };
    this.#left = { old: Number(oldCount), new: Number(newCount) };
    file.hunks.push({ number: file.hunks.length + 1, header: line, lines: [] });
  }

  #readContent(file: OpenFile, line: string): void {
    if (line.startsWith('\\')) return this.#note(file, line);
    const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'context';
    const inOld = kind !== 'added';
    const inNew = kind !== 'removed';
    const numbers = { oldNumber: inOld ? this.#at.old : null, newNumber: inNew ? this.#at.new : null };
    if (kind === 'added') file.added += 1;
    if (kind === 'removed') file.removed += 1;
    if (inOld) this.#count('old');
    if (inNew) this.#count('new');
    this.#keep(file, { kind, text: line.slice(1), ...numbers });
  }

  #count(side: 'old' | 'new'): void {
    this.#at[side] += 1;
    this.#left[side] -= 1;
  }

  #note(file: OpenFile, line: string): void {
    this.#keep(file, { kind: 'note', text: line.slice(2), oldNumber: null, newNumber: null });
  }

  #keep(file: OpenFile, line: PatchLine): void {
    if (file.shown >= MAX_FILE_LINES) {
      file.hiddenLines += 1;
      return;
    }
    file.shown += 1;
    file.hunks.at(-1)?.lines.push(line);
  }
}

function readHeader(file: OpenFile, line: string): void {
  if (line.startsWith('new file')) file.change = 'added';
  else if (line.startsWith('deleted file')) file.change = 'deleted';
  else if (line.startsWith('old mode') && file.change === 'changed') file.change = 'mode';
  else if (line.startsWith('rename from ')) renameFrom(file, 'renamed', line.slice(12));
  else if (line.startsWith('copy from ')) renameFrom(file, 'copied', line.slice(10));
  else if (line.startsWith('rename to ')) file.path = decodeGitPath(line.slice(10));
  else if (line.startsWith('copy to ')) file.path = decodeGitPath(line.slice(8));
  else if (line.startsWith('--- ')) file.oldPath = sidePath(line.slice(4)) ?? file.oldPath;
  else if (line.startsWith('+++ ')) file.path = sidePath(line.slice(4)) ?? file.path;
  else if (line.startsWith('GIT binary patch') || line.startsWith('Binary files ')) file.isBinary = true;
}

function renameFrom(file: OpenFile, change: FileChange, path: string): void {
  file.change = change;
  file.oldPath = decodeGitPath(path);
}

/** The path behind `a/` or `b/`; null for `/dev/null`. A tab ends a name with spaces. */
function sidePath(text: string): string | null {
  const name = decodeGitPath(text.replace(/\t$/, ''));
  return name === '/dev/null' ? null : name.replace(/^[ab]\//, '');
}
