/**
 * The append-only record of versions: one small file a version, `<folder>/<kind>/<name>/<version>.json`.
 *
 * A version is written aside, made durable, and linked to its number; linking fails when the number is taken. So
 * processes that register at the same time cannot overwrite each other, and a crash leaves a complete version or none.
 * Each record carries the sha256 of the one before it: a reader of the name notices an edited or removed version.
 */
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { makeFolder, writeNewFileSync } from '@caisson/ground';
import { RegistryKind, Sha256, Timestamp } from '@caisson/protocol';
import * as z from 'zod/mini';

import type { RegistryVersion } from './contract.ts';
import { RegistryAccessError, RegistryCorruptError } from './errors.ts';

const Record = z.strictObject({
  kind: RegistryKind,
  name: z.string(),
  version: z.int().check(z.gte(1)),
  hash: Sha256,
  at: Timestamp,
  /** sha256 of the record before; null for the first. */
  previous: z.nullable(Sha256),
});

interface ReadRecord extends RegistryVersion {
  readonly recordHash: string;
}

export class VersionLog {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async listNames(kind: RegistryKind): Promise<string[]> {
    const names = await this.#list(join(this.#folder, kind));
    return names.filter((name) => !name.startsWith('.')).toSorted();
  }

  /** Oldest first; empty when the name was never registered. */
  async read(kind: RegistryKind, name: string): Promise<readonly ReadRecord[]> {
    const folder = join(this.#folder, kind, name);
    const files = (await this.#list(folder)).filter((file) => file.endsWith('.json'));
    const records: ReadRecord[] = [];
    for (let version = 1; version <= files.length; version += 1) {
      const file = join(folder, `${version}.json`);
      if (!files.includes(`${version}.json`))
        throw corrupt(file, 'is missing, although later versions exist');
      records.push(
        await this.#readRecord(file, { kind, name, version, previous: records.at(-1)?.recordHash ?? null }),
      );
    }
    return records;
  }

  /** Null when another process took that number first. */
  async append(
    kind: RegistryKind,
    name: string,
    digest: string,
    at: string,
  ): Promise<RegistryVersion | null> {
    const before = await this.read(kind, name);
    const version = before.length + 1;
    const folder = join(this.#folder, kind, name);
    const record = { kind, name, version, hash: digest, at, previous: before.at(-1)?.recordHash ?? null };
    try {
      makeFolder(folder);
      if (!writeNewFileSync(join(folder, `${version}.json`), JSON.stringify(record))) return null;
    } catch (cause) {
      throw access(folder, cause);
    }
    return { kind, name, version, hash: digest, at };
  }

  async #readRecord(
    file: string,
    expected: { kind: string; name: string; version: number; previous: string | null },
  ): Promise<ReadRecord> {
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (cause) {
      throw access(file, cause);
    }
    const parsed = Record.safeParse(parseJson(text, file));
    if (!parsed.success) throw corrupt(file, 'is not a record of a version');
    const { previous, ...version } = parsed.data;
    const isHere =
      version.kind === expected.kind &&
      version.name === expected.name &&
      version.version === expected.version;
    if (!isHere) throw corrupt(file, `belongs to ${version.kind}/${version.name} version ${version.version}`);
    if (previous !== expected.previous)
      throw corrupt(file, 'does not follow the version before it: one of them was changed');
    return { ...version, recordHash: hash('sha256', text) };
  }

  async #list(folder: string): Promise<string[]> {
    try {
      return await readdir(folder);
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
      throw access(folder, cause);
    }
  }
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw corrupt(file, `is not JSON (${cause instanceof Error ? cause.message : String(cause)})`);
  }
}

function corrupt(file: string, detail: string): RegistryCorruptError {
  return new RegistryCorruptError(`registry record ${file} ${detail}`, {
    remedy: 'Restore the file from a backup, or remove the whole folder of that name and register it again.',
  });
}

function access(file: string, cause: unknown): RegistryAccessError {
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new RegistryAccessError(`cannot access the registry at ${file}: ${detail}`, {
    cause,
    remedy: 'Check the permissions of the state folder and the health of the disk.',
  });
}
