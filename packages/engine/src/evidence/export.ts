import { open, rm, type FileHandle } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';

import { publishFile } from '@caisson/ground';
import { CaissonError, definedOnly } from '@caisson/protocol';

import type { Ledger } from '../ledger/index.ts';
import { StoreCorruptError, type Store } from '../store/index.ts';
import { IncompleteError, NotSealedError, TamperedError } from './errors.ts';
import { isAbsence } from './check-report.ts';
import { encodeEvents } from './event-chain.ts';
import {
  blobPart,
  encodeExportHeader,
  ENVELOPE_PART,
  EVENTS_PART,
  HEADER_PART,
  KEY_PART,
  MANIFEST_PART,
  RESULT_PART,
} from './export-parts.ts';
import { parseEnvelope } from './dsse.ts';
import { findSeal } from './find-seal.ts';
import { refuseLostSeal } from './seal-chain.ts';
import { parseStatement } from './statement.ts';
import { encodeTarHeader, paddingOf, TAR_END } from './tar.ts';

export interface ExportInput {
  readonly ledger: Ledger;
  readonly store: Store;
  readonly runId: string;
  /** The file to write; replaced in one step. */
  readonly to: string;
  readonly signal?: AbortSignal;
}

export interface Exported {
  readonly file: string;
  readonly bytes: number;
  readonly events: number;
  readonly keyId: string;
}

/**
 * Writes everything that another person needs to check a sealed run into one file. The same run gives the same bytes.
 */
export async function exportRun(input: ExportInput): Promise<Exported> {
  const { ledger, store, runId } = input;
  const events = await ledger.readRun(runId);
  const seal = findSeal(events);
  if (seal === null) {
    refuseLostSeal(ledger, runId, events);
    const hasEnded = ledger.run(runId)?.ending !== undefined;
    throw new NotSealedError(`run ${runId} has ${hasEnded ? 'ended and has no seal' : 'not ended yet'}`, {
      remedy: hasEnded ? `Seal it: caisson seal ${runId}` : 'A run is sealed after its ending.',
    });
  }
  const get = (what: string, digest: string): Promise<Buffer> =>
    reading(runId, what, () => store.getBlob(digest));
  const envelope = await get('envelope', seal.envelopeRef);
  const read = parseEnvelope(envelope);
  const statement = parseStatement(read.payload);
  const sealed = events.slice(0, statement.events.count);
  const bytes = await writeInOneStep(input.to, async (tar) => {
    await tar.add(HEADER_PART, encodeExportHeader(runId));
    await tar.add(ENVELOPE_PART, envelope);
    await tar.add(KEY_PART, Buffer.from(statement.publicKeyPem));
    await tar.add(MANIFEST_PART, await get('manifest', statement.manifestDigest));
    if (statement.resultDigest !== null)
      await tar.add(RESULT_PART, await get('result', statement.resultDigest));
    await tar.add(EVENTS_PART, encodeEvents(sealed));
    const blobs = new Map(statement.artefacts.map((artefact) => [artefact.digest, artefact]));
    for (const [digest, { name, size }] of [...blobs].toSorted(([left], [right]) =>
      left < right ? -1 : 1,
    )) {
      input.signal?.throwIfAborted();
      await reading(runId, name, async () =>
        tar.addStream(blobPart(digest), size, await store.openBlob(digest)),
      );
    }
  });
  return { file: input.to, bytes, events: sealed.length, keyId: read.keyId };
}

/** Turns the store's error about a part into what it means for the run. */
async function reading<T>(runId: string, what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (!(cause instanceof CaissonError)) throw cause;
    if (isAbsence(cause))
      throw new IncompleteError(`run ${runId} is incomplete: its ${what} cannot be read: ${cause.message}`, {
        cause,
        remedy: 'Restore it from a backup, or fetch it from the bucket: caisson doctor --repair',
      });
    if (cause instanceof StoreCorruptError)
      throw new TamperedError(`run ${runId} is tampered: its ${what} was changed: ${cause.message}`, {
        cause,
        ...definedOnly({ remedy: cause.remedy }),
      });
    throw cause;
  }
}

/** A reader sees a whole export or none. */
async function writeInOneStep(to: string, write: (tar: TarWriter) => Promise<void>): Promise<number> {
  const temp = join(dirname(to), `.caisson-export-${randomBytes(8).toString('hex')}`);
  const file = await open(temp, 'wx', 0o644);
  try {
    const tar = new TarWriter(file);
    await write(tar);
    await tar.end();
    await file.close();
    await publishFile(temp, to);
    return tar.bytes;
  } catch (cause) {
    await file.close();
    await rm(temp, { force: true });
    throw cause;
  }
}

class TarWriter {
  readonly #file: FileHandle;
  bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async add(name: string, content: Buffer): Promise<void> {
    await this.#write(
      Buffer.concat([encodeTarHeader(name, content.length), content, paddingOf(content.length)]),
    );
  }

  async addStream(name: string, size: number, content: AsyncIterable<Buffer>): Promise<void> {
    await this.#write(encodeTarHeader(name, size));
    const startedAt = this.bytes;
    for await (const chunk of content) await this.#write(chunk);
    if (this.bytes - startedAt !== size)
      throw new TamperedError(`part ${name} has ${this.bytes - startedAt} bytes, sealed were ${size}`);
    await this.#write(paddingOf(size));
  }

  async end(): Promise<void> {
    await this.#write(TAR_END);
  }

  async #write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    await this.#file.writeFile(bytes);
    this.bytes += bytes.length;
  }
}
