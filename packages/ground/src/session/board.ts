/** The board of a session: namespaces of keys, each replaced by its last write or appended to, each with a time to live. */
import {
  BoardFile,
  CaissonError,
  SharedKey,
  type BoardCell,
  type BoardItem,
  type BoardMode,
  type SharedSource,
} from '@caisson/protocol';
import { systemClock, type Clock } from '../platform/index.ts';
import {
  readSharedFile,
  removeFromSharedFile,
  updateSharedFile,
  type SharedFileKind,
} from '../files/index.ts';

export const DEFAULT_NAMESPACE = 'default';

const MAX_VALUE_BYTES = 64 * 1024;
const MAX_KEYS = 4096;
const MAX_ITEMS = 4096;

/** A refusal of the board, with a message for the writer. */
export class BoardRefusedError extends CaissonError {
  readonly code = 'BOARD_REFUSED';
}

export interface BoardEntry extends BoardCell {
  readonly namespace: string;
  readonly key: string;
}

export interface BoardWrite {
  readonly namespace?: string;
  readonly key: string;
  readonly value: unknown;
  /** Default: the key's own mode, `last-write-wins` for a new key. */
  readonly mode?: BoardMode;
  readonly ttlMs?: number;
  readonly by: SharedSource;
}

/** A board in one file. Concurrent writers of any process lose nothing. */
export interface Board {
  /** What has not expired, in order of namespace and key. */
  read(query?: { namespace?: string; key?: string }): Promise<readonly BoardEntry[]>;
  /** Resolves with the entry as it is after the write. */
  write(write: BoardWrite): Promise<BoardEntry>;
  /** Removes everything; false when there was nothing. */
  clear(): Promise<boolean>;
  /** Removes a key; false when there was none. */
  remove(namespace: string, key: string): Promise<boolean>;
}

const BOARD: SharedFileKind<BoardFile> = {
  maxBytes: 4 * 1024 * 1024,
  empty: () => ({ schemaVersion: 1, namespaces: emptyRecord() }),
  parse: (value) => withoutPrototypes(BoardFile.parse(value)),
};

export function openBoard(path: string, clock: Pick<Clock, 'now'> = systemClock): Board {
  return {
    async read(query = {}) {
      const file = await readSharedFile(path, BOARD);
      dropExpired(file, clock.now());
      return entriesOf(file).filter(
        (entry) =>
          (query.namespace === undefined || entry.namespace === query.namespace) &&
          (query.key === undefined || entry.key === query.key),
      );
    },
    async write(write) {
      checkWrite(write);
      return updateSharedFile(path, BOARD, (file) => {
        dropExpired(file, clock.now());
        return applyWrite(file, write, clock.now());
      });
    },
    clear: () =>
      removeFromSharedFile(path, BOARD, (file) => {
        const had = Object.keys(file.namespaces).length > 0;
        file.namespaces = emptyRecord();
        return had;
      }),
    remove: (namespace, key) =>
      removeFromSharedFile(path, BOARD, (file) => {
        const had = file.namespaces[namespace]?.[key] !== undefined;
        delete file.namespaces[namespace]?.[key];
        dropExpired(file, clock.now());
        return had;
      }),
  };
}

function checkWrite(write: BoardWrite): void {
  for (const name of [write.namespace ?? DEFAULT_NAMESPACE, write.key]) {
    if (!SharedKey.safeParse(name).success)
      throw new BoardRefusedError(
        `"${name.slice(0, 200)}" is not a valid name for the board: letters, digits and . _ : / - , at most 128.`,
      );
  }
  const text = JSON.stringify(write.value) as string | undefined;
  if (text === undefined) throw new BoardRefusedError(`the value of ${write.key} has no JSON form.`);
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES)
    throw new BoardRefusedError(
      `the value of ${write.key} has more than ${MAX_VALUE_BYTES} bytes; put it into a file and its name on the board.`,
    );
  if (write.ttlMs !== undefined && !(write.ttlMs > 0))
    throw new BoardRefusedError(`a time to live of ${write.ttlMs} ms is not valid; give more than 0.`);
}

function applyWrite(file: BoardFile, write: BoardWrite, now: Date): BoardEntry {
  const namespace = write.namespace ?? DEFAULT_NAMESPACE;
  const cells = (file.namespaces[namespace] ??= emptyRecord());
  const old = cells[write.key];
  const mode = write.mode ?? old?.mode ?? 'last-write-wins';
  if (old !== undefined && old.mode !== mode)
    throw new BoardRefusedError(
      `${namespace}/${write.key} is written with ${old.mode}; ${mode} would lose its value. Use another key.`,
    );
  const items = mode === 'append' && old !== undefined ? old.items : [];
  if (old === undefined && Object.keys(cells).length >= MAX_KEYS)
    throw new BoardRefusedError(`the namespace ${namespace} has ${MAX_KEYS} keys, which is the limit.`);
  if (items.length >= MAX_ITEMS)
    throw new BoardRefusedError(
      `${namespace}/${write.key} has ${MAX_ITEMS} items, which is the limit. Continue under another key.`,
    );
  items.push(itemOf(write, now));
  cells[write.key] = { mode, items };
  return { namespace, key: write.key, mode, items };
}

function itemOf(write: BoardWrite, now: Date): BoardItem {
  const expires = write.ttlMs === undefined ? null : new Date(now.getTime() + write.ttlMs);
  return {
    value: write.value,
    by: write.by,
    at: now.toISOString(),
    ...(expires === null ? {} : { expiresAt: expires.toISOString() }),
  };
}

function dropExpired(file: BoardFile, now: Date): void {
  const at = now.toISOString();
  for (const [namespace, cells] of Object.entries(file.namespaces)) {
    for (const [key, cell] of Object.entries(cells)) {
      cell.items = cell.items.filter((item) => item.expiresAt === undefined || item.expiresAt > at);
      if (cell.items.length === 0) delete cells[key];
    }
    if (Object.keys(cells).length === 0) delete file.namespaces[namespace];
  }
}

function entriesOf(file: BoardFile): BoardEntry[] {
  return Object.keys(file.namespaces)
    .toSorted()
    .flatMap((namespace) =>
      Object.entries(file.namespaces[namespace] ?? {})
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([key, cell]) => ({ namespace, key, ...cell })),
    );
}

/** Keys such as `constructor` are names like any other. */
function withoutPrototypes(file: BoardFile): BoardFile {
  const namespaces = emptyRecord<Record<string, BoardCell>>();
  for (const [name, cells] of Object.entries(file.namespaces))
    namespaces[name] = Object.assign(emptyRecord<BoardCell>(), cells);
  return { ...file, namespaces };
}

function emptyRecord<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}
