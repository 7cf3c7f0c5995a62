/** Reads the two forms in which git lists the files of a patch. */
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

const STATUS: Readonly<Record<string, PatchStatus>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'added',
  T: 'type-changed',
};

/** Splits the output of `diff-tree -z --raw --numstat -p`: two NUL-separated lists, one NUL, the patch. */
export function parseDiffOutput(output: Buffer): { patch: Buffer; files: PatchFile[] } {
  const end = output.indexOf('\0\0');
  if (end === -1) return { patch: Buffer.alloc(0), files: [] };
  const fields = splitAtNul(output.subarray(0, end));
  const changes: { status: PatchStatus; path: Buffer; previousPath: Buffer | null }[] = [];
  let at = 0;
  while (fields[at]?.[0] === 0x3a) {
    const letter = fields[at]?.toString('latin1').split(' ')[4]?.charAt(0) ?? 'M';
    const isPair = letter === 'R' || letter === 'C';
    const path = fields[at + (isPair ? 2 : 1)] ?? Buffer.alloc(0);
    changes.push({
      status: STATUS[letter] ?? 'modified',
      path,
      previousPath: isPair ? (fields[at + 1] ?? null) : null,
    });
    at += isPair ? 3 : 2;
  }
  const counts = readCounts(fields, at);
  const files = changes.map((change): PatchFile => {
    const count = counts.get(change.path.toString('latin1')) ?? { added: 0, removed: 0, binary: false };
    return {
      path: showPath(change.path),
      ...(change.previousPath === null ? {} : { previousPath: showPath(change.previousPath) }),
      status: change.status,
      linesAdded: count.added,
      linesRemoved: count.removed,
      binary: count.binary,
    };
  });
  return { patch: output.subarray(end + 2), files };
}

interface LineCount {
  readonly added: number;
  readonly removed: number;
  readonly binary: boolean;
}

/** A type change is a deletion and an addition of one path: their counts add up. */
function readCounts(fields: readonly Buffer[], from: number): Map<string, LineCount> {
  const counts = new Map<string, LineCount>();
  let at = from;
  while (at < fields.length) {
    const [added = '', removed = '', name = ''] = splitTwice(fields[at]?.toString('latin1') ?? '');
    const path = name === '' ? (fields[at + 2]?.toString('latin1') ?? '') : name;
    const before = counts.get(path) ?? { added: 0, removed: 0, binary: false };
    const binary = added === '-';
    counts.set(path, {
      added: before.added + (binary ? 0 : Number(added)),
      removed: before.removed + (binary ? 0 : Number(removed)),
      binary: before.binary || binary,
    });
    at += name === '' ? 3 : 1;
  }
  return counts;
}

/** A name may hold tabs; the two numbers before it do not. */
function splitTwice(field: string): string[] {
  const first = field.indexOf('\t');
  const second = field.indexOf('\t', first + 1);
  return [field.slice(0, first), field.slice(first + 1, second), field.slice(second + 1)];
}

/** Reads the headers of a patch that we captured. Hunk and binary lines can never look like a header line. */
export function parsePatchHeaders(patch: Buffer): PatchHeader[] {
  const headers: PatchHeader[] = [];
  for (const lines of headerBlocks(patch)) headers.push(readHeader(lines));
  return headers;
}

function headerBlocks(patch: Buffer): string[][] {
  const blocks: string[][] = [];
  let block: string[] | null = null;
  let at = 0;
  while (at < patch.length) {
    const newline = patch.indexOf(0x0a, at);
    const end = newline === -1 ? patch.length : newline;
    const start = patch.toString('latin1', at, Math.min(at + 11, end));
    if (start === 'diff --git ') {
      block = [patch.toString('latin1', at, end)];
      blocks.push(block);
    } else if (start.startsWith('@@ ') || start.startsWith('GIT binary ')) {
      block = null;
    } else if (block !== null) {
      block.push(patch.toString('latin1', at, end));
    }
    at = end + 1;
  }
  return blocks;
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

function splitAtNul(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  while (at <= bytes.length) {
    const end = bytes.indexOf(0, at);
    const stop = end === -1 ? bytes.length : end;
    parts.push(bytes.subarray(at, stop));
    at = stop + 1;
  }
  return parts;
}
