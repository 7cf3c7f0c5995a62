/** Reads which files a patch changes, and how. */
import { showPath } from '../platform/index.ts';

export type PatchStatus = 'added' | 'modified' | 'deleted' | 'renamed' | 'type-changed';

export interface PatchFile {
  /** UTF-8; a name that is not UTF-8 is quoted as git does, `"caf\351"`. */
  readonly path: string;
  readonly previousPath?: string;
  readonly status: PatchStatus;
  readonly linesAdded: number;
  readonly linesRemoved: number;
  readonly binary: boolean;
}

/** One file as the header of a patch names it; paths are bytes, ids as written (`--full-index`). */
export interface PatchHeader {
  readonly oldPath: Buffer | null;
  readonly newPath: Buffer | null;
  readonly oldId: string | null;
  readonly oldMode: string | null;
  readonly newId: string | null;
  readonly newMode: string | null;
}

/** Reads the headers of a patch that we captured. Hunk and binary lines can never look like a header line. */
export function parsePatchHeaders(patch: Buffer): PatchHeader[] {
  return readBlocks(patch).map(({ header }) => readHeader(header));
}

/** The files of a patch that we captured, with how many lines each gained and lost. */
export function listPatchFiles(patch: Buffer): PatchFile[] {
  const files: PatchFile[] = [];
  for (const block of readBlocks(patch)) {
    const file = describeBlock(block);
    const before = files.at(-1);
    if (before?.path === file.path) files[files.length - 1] = joinTypeChange(before, file);
    else files.push(file);
  }
  return files;
}

function describeBlock({ header, added, removed, binary }: FileBlock): PatchFile {
  const { oldPath, newPath } = readHeader(header);
  const path = newPath ?? oldPath ?? Buffer.alloc(0);
  const isRenamed = oldPath !== null && !oldPath.equals(path);
  const status = oldPath === null ? 'added' : newPath === null ? 'deleted' : 'modified';
  return {
    path: showPath(path),
    ...(isRenamed ? { previousPath: showPath(oldPath) } : {}),
    status: isRenamed ? 'renamed' : status,
    linesAdded: added,
    linesRemoved: removed,
    binary,
  };
}

/** A file that becomes a link is deleted and added: their counts add up. */
function joinTypeChange(before: PatchFile, after: PatchFile): PatchFile {
  return {
    ...after,
    status: 'type-changed',
    linesAdded: before.linesAdded + after.linesAdded,
    linesRemoved: before.linesRemoved + after.linesRemoved,
    binary: before.binary || after.binary,
  };
}

/** What a patch says of one file. */
interface FileBlock {
  readonly header: string[];
  added: number;
  removed: number;
  binary: boolean;
}

function readBlocks(patch: Buffer): FileBlock[] {
  const blocks: FileBlock[] = [];
  let isHeader = false;
  let at = 0;
  while (at < patch.length) {
    const newline = patch.indexOf(0x0a, at);
    const end = newline === -1 ? patch.length : newline;
    const start = patch.toString('latin1', at, Math.min(at + 11, end));
    const block = blocks.at(-1);
    if (start === 'diff --git ') {
      blocks.push({ header: [patch.toString('latin1', at, end)], added: 0, removed: 0, binary: false });
      isHeader = true;
    } else if (block !== undefined) {
      if (start.startsWith('GIT binary ')) block.binary = true;
      if (start.startsWith('@@ ') || block.binary) isHeader = false;
      if (isHeader) block.header.push(patch.toString('latin1', at, end));
      else if (!block.binary) countLine(block, start);
    }
    at = end + 1;
  }
  return blocks;
}

function countLine(block: FileBlock, start: string): void {
  if (start.startsWith('+')) block.added += 1;
  else if (start.startsWith('-')) block.removed += 1;
}

function readHeader(lines: readonly string[]): PatchHeader {
  const field = (prefix: string): string | null =>
    lines.find((line) => line.startsWith(prefix))?.slice(prefix.length) ?? null;
  const isNew = field('new file mode ') !== null;
  const isDeleted = field('deleted file mode ') !== null;
  const same = samePath(lines[0] ?? '');
  const oldName = field('rename from ') ?? field('copy from ');
  const newName = field('rename to ') ?? field('copy to ');
  const index = /^([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d+))?$/.exec(field('index ') ?? '');
  return {
    oldPath: isNew ? null : oldName === null ? same : unquote(oldName),
    newPath: isDeleted ? null : newName === null ? same : unquote(newName),
    oldId: index?.[1] ?? null,
    oldMode: field('old mode ') ?? field('deleted file mode ') ?? index?.[3] ?? null,
    newId: index?.[2] ?? null,
    newMode: field('new mode ') ?? field('new file mode ') ?? index?.[3] ?? null,
  };
}

/** `diff --git a/X b/X`: without a rename both halves name the same file, so the middle is known. */
function samePath(line: string): Buffer {
  const rest = line.slice('diff --git '.length);
  if (rest.startsWith('"')) {
    const half = rest.slice(0, (rest.length - 1) / 2);
    return unquote(half).subarray(2);
  }
  return Buffer.from(rest.slice(2, (rest.length - 1) / 2), 'latin1');
}

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};

function unquote(name: string): Buffer {
  if (!name.startsWith('"')) return Buffer.from(name, 'latin1');
  const text = name
    .slice(1, -1)
    .replace(/\\([0-7]{3}|.)/g, (_all, escape: string) =>
      String.fromCharCode(
        escape.length === 3 ? Number.parseInt(escape, 8) : (ESCAPES[escape] ?? escape.charCodeAt(0)),
      ),
    );
  return Buffer.from(text, 'latin1');
}
