import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Alias, Document, LineCounter, Node } from 'yaml';
import { ConfigError } from './errors.ts';

/** Far larger than any handwritten config; a bigger file is something else. */
const MAX_BYTES = 1024 * 1024;
const MAX_ALIASES = 100;

export type ConfigPath = readonly PropertyKey[];

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A parsed file with the position of every value. */
export interface ConfigDocument {
  readonly file: string;
  /** The plain value; `{}` for an empty file. */
  readonly value: unknown;
  /** The position of the value at `path`, or of the nearest parent. With `key`, the position of that key. */
  locate(path: ConfigPath, key?: string): Position;
}

/** Reads and parses the file; a file that cannot be read or is not YAML throws {@link ConfigError} with the place. */
export async function readConfigDocument(file: string): Promise<ConfigDocument> {
  const text = await readConfigText(file);
  // Loaded here so that a project without a file does not pay for a YAML parser.
  const yaml = await import('./yaml-parser.ts');
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [first, ...rest] = document.errors.map((error) => ({
    file,
    ...toPosition(lines, error.pos[0]),
    message: `not valid YAML: ${describeFault(error)}`,
  }));
  if (first !== undefined) throw new ConfigError([first, ...rest]);
  return {
    file,
    value: toPlainValue(yaml, file, document, lines) ?? {},
    locate: (path, key) => locate(yaml, document, lines, path, key),
  };
}

/** Replaces messages of the parser that are for programmers. */
function describeFault({ code, message }: { readonly code: string; readonly message: string }): string {
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here; only one is read.';
  return message.includes('call stack') ? 'it is nested too deeply.' : message.trim();
}

/** Throws {@link ConfigError} for what is no file of text. */
export async function readConfigText(file: string): Promise<string> {
  const bytes = await readBytes(file).catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([{ file, message: `cannot be read: ${describeRefusal(error)}.` }], {
      cause: error,
      remedy: 'Make it a readable file, or move it away.',
    });
  });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ConfigError([{ file, message: 'is not UTF-8 text.' }], {
      cause: error,
      remedy: 'Save the file as UTF-8.',
    });
  }
}

/** Without waiting: a pipe without a writer would block for ever, and a device may never end. */
async function readBytes(file: string): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const info = await handle.stat();
    if (!info.isFile()) {
      const message = `is ${info.isDirectory() ? 'a folder' : 'not a regular file'}.`;
      throw new ConfigError([{ file, message }], { remedy: 'Put a YAML file there, or move it away.' });
    }
    if (info.size > MAX_BYTES) {
      const message = `is ${info.size} bytes long; the limit is ${MAX_BYTES}.`;
      throw new ConfigError([{ file, message }], { remedy: 'Move it away; caisson init writes a new one.' });
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

function describeRefusal(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'it is a link to something that does not exist';
  if (code === 'ELOOP') return 'it is a link to itself';
  if (code === 'EACCES') return 'this user may not read it';
  return error instanceof Error ? error.message : String(error);
}

function toPlainValue(
  yaml: typeof import('./yaml-parser.ts'),
  file: string,
  document: Document.Parsed,
  lines: LineCounter,
): unknown {
  try {
    return demandPlain(file, document.toJS({ maxAliasCount: MAX_ALIASES }));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const lost = findLostAlias(yaml, document);
    const message =
      lost === null
        ? `more than ${MAX_ALIASES} values by alias.`
        : `no anchor &${lost.source} before this alias.`;
    const place = lost === null ? {} : positionOf(lines, lost);
    throw new ConfigError([{ file, ...place, message: `not usable YAML: ${message}` }], { cause: error });
  }
}

/** Sets, ordered maps and bytes are not settings, and would look different from what a user wrote. */
function demandPlain(file: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain)
    throw new ConfigError([{ file, message: 'not usable YAML: only maps, lists and plain values are.' }]);
  for (const member of Object.values(value)) demandPlain(file, member);
  return value;
}

function findLostAlias(yaml: typeof import('./yaml-parser.ts'), document: Document.Parsed): Alias | null {
  let lost: Alias | null = null;
  yaml.visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      lost = alias;
      return yaml.visit.BREAK;
    },
  });
  return lost;
}

function locate(
  yaml: typeof import('./yaml-parser.ts'),
  document: Document.Parsed,
  lines: LineCounter,
  path: ConfigPath,
  key?: string,
): Position {
  const node = document.getIn(path, true);
  if (key !== undefined && yaml.isMap(node)) {
    const pair = node.items.find((item) => yaml.isScalar(item.key) && String(item.key.value) === key);
    if (yaml.isNode(pair?.key)) return positionOf(lines, pair.key);
  }
  if (yaml.isNode(node)) return positionOf(lines, node);
  return path.length === 0
    ? { line: 1, column: 1 }
    : locate(yaml, document, lines, path.slice(0, -1), String(path.at(-1)));
}

function positionOf(lines: LineCounter, node: Node): Position {
  return toPosition(lines, node.range?.[0] ?? 0);
}

function toPosition(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}
