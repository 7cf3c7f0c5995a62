/**
 * The files that a module is made of: itself and what it imports by relative paths, inside the project. Imports are found by a
 * light scan of the text, which may find too many in comments, never too few of plain `import`, `export … from` and `require`.
 */
import { realpath, stat } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { beneath, FileTooLargeError, readFileCapped } from '@caisson/ground';
import { findInside } from './file-watch.ts';

export interface SourceFile {
  readonly path: string;
  /** Null where there is none, or none that may be read: a regular file inside the project. */
  readonly content: Buffer | null;
}

const MAX_FILES = 256;
/** Of one file, also of files that are not there or not in the project. */
const MAX_SPECIFIERS = 1024;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;
/** Blanks are matched by one part at most in each place: two that could share them would try every way to do so. */
const IMPORT = /\b(?:from\s*|import\s*(?:\(\s*)?|require\s*\(\s*)(['"])(\.{1,2}\/[^'"\n]*)\1/g;
const ENDINGS = ['', '.ts', '.mts', '.js', '.mjs', '/index.ts', '/index.js'];

export async function readSources(root: string, file: string): Promise<readonly SourceFile[]> {
  const found: SourceFile[] = [];
  const paths = new Set([file]);
  let left = MAX_TOTAL_BYTES;
  for (const path of paths) {
    const content = await readSmall(root, path, Math.min(left, MAX_BYTES));
    left -= content?.length ?? 0;
    found.push({ path, content });
    for (const specifier of findSpecifiers(content?.toString() ?? '')) {
      const named = resolve(dirname(path), specifier);
      if (findInside(root, named) !== null && paths.size < MAX_FILES) paths.add(await findFile(named));
    }
  }
  return found;
}

function findSpecifiers(text: string): ReadonlySet<string> {
  const specifiers = new Set<string>();
  for (const [, , specifier = ''] of text.matchAll(IMPORT))
    if (specifiers.add(specifier).size === MAX_SPECIFIERS) break;
  return specifiers;
}

/** A link inside the project counts as what it leads to; while it is opened, no other is followed. */
async function readSmall(root: string, path: string, maxBytes: number): Promise<Buffer | null> {
  try {
    const [top, real] = await Promise.all([realpath(root), realpath(path)]);
    if (findInside(top, real) === null) return null;
    return await beneath(top, Buffer.from(relative(top, real)), (at) =>
      readFileCapped(at.toString(), maxBytes, { noFollow: true }),
    );
  } catch (error) {
    return error instanceof FileTooLargeError ? describeLarge(path) : null;
  }
}

/** Instead of its content, which nobody looks at. */
async function describeLarge(path: string): Promise<Buffer | null> {
  const found = await stat(path).catch(() => null);
  return found === null ? null : Buffer.from(`${found.size} bytes, ${found.mtimeMs}`);
}

/** The path itself where there is no such file: it matters when it comes. */
async function findFile(path: string): Promise<string> {
  for (const ending of ENDINGS) {
    const found = await stat(path + ending).catch(() => null);
    if (found?.isFile() === true) return path + ending;
  }
  return path;
}
