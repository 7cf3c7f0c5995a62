/** An export as something to verify: its parts, found by name. */
import { createHash } from 'node:crypto';

import { EvidenceMalformedError, IncompleteError } from './errors.ts';
import { parseEvents } from './event-chain.ts';
import type { EvidenceSource, FoundBlob } from './evidence-source.ts';
import {
  blobPart,
  ENVELOPE_PART,
  EVENTS_PART,
  HEADER_PART,
  KEY_PART,
  MANIFEST_PART,
  parseExportHeader,
  RESULT_PART,
} from './export-parts.ts';
import type { ByteSource, TarEntry } from './tar.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Parts that are read whole. Far above what the schemas allow, far below what fills the memory. */
const MAX_PART_BYTES = 512 * 1024 * 1024;

export class ExportSource implements EvidenceSource {
  readonly #source: ByteSource;
  readonly #parts: ReadonlyMap<string, TarEntry>;
  readonly hasLaterEvents = false;

  constructor(source: ByteSource, entries: readonly TarEntry[]) {
    this.#source = source;
    this.#parts = new Map(entries.map((entry) => [entry.name, entry]));
  }

  readRunId(): string {
    return parseExportHeader(this.#read(HEADER_PART));
  }

  async readEnvelope(): Promise<Buffer> {
    return this.#read(ENVELOPE_PART);
  }

  async readPublicKey(): Promise<Buffer> {
    return this.#read(KEY_PART);
  }

  async readManifest(): Promise<Buffer> {
    return this.#read(MANIFEST_PART);
  }

  async readResult(): Promise<Buffer> {
    return this.#read(RESULT_PART);
  }

  async readEvents(): ReturnType<EvidenceSource['readEvents']> {
    return parseEvents(this.#read(EVENTS_PART));
  }

  async measureArtefact(digest: string): Promise<FoundBlob> {
    const entry = this.#find(blobPart(digest));
    const hashing = createHash('sha256');
    for (let at = 0; at < entry.size; at += CHUNK_BYTES) {
      hashing.update(this.#source.readAt(entry.offset + at, Math.min(CHUNK_BYTES, entry.size - at)));
    }
    return { digest: hashing.digest('hex'), size: entry.size };
  }

  listStray(expected: { digests: readonly string[]; hasResult: boolean }): string[] {
    const known = new Set([
      HEADER_PART,
      ENVELOPE_PART,
      KEY_PART,
      MANIFEST_PART,
      EVENTS_PART,
      ...expected.digests.map(blobPart),
    ]);
    if (expected.hasResult) known.add(RESULT_PART);
    return [...this.#parts.keys()].filter((name) => !known.has(name));
  }

  #read(name: string): Buffer {
    const entry = this.#find(name);
    if (entry.size > MAX_PART_BYTES)
      throw new EvidenceMalformedError(`part ${name} is larger than any real one`);
    return this.#source.readAt(entry.offset, entry.size);
  }

  #find(name: string): TarEntry {
    const entry = this.#parts.get(name);
    if (entry === undefined) throw new IncompleteError(`part ${name} is missing`);
    return entry;
  }
}
