/** How an export is changed on its way to a vector. */
import { createHash } from 'node:crypto';

import type { SigningKey } from '../../packages/engine/src/evidence/contract.ts';
import { encodeEnvelope, signEnvelope } from '../../packages/engine/src/evidence/dsse.ts';
import { encodeTarHeader, listTar, paddingOf, TAR_END } from '../../packages/engine/src/evidence/tar.ts';
import { canonicalJson } from '../../packages/engine/src/ledger/index.ts';

export type Parts = Map<string, Buffer>;

/** What is wrong with it, and how it comes to be: an edit of the parts, or of the bytes as a whole. */
export interface Case {
  readonly about: string;
  readonly failed: readonly string[];
  /** What is there agrees with the signature. */
  readonly isOnlyMissing?: true;
  edit?(parts: Parts): void | Promise<void>;
  damage?(bytes: Buffer): Buffer;
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export function readParts(bytes: Buffer): Parts {
  const source = { size: bytes.length, readAt: (at: number, size: number) => bytes.subarray(at, at + size) };
  return new Map(
    listTar(source).map(({ name, offset, size }) => [name, bytes.subarray(offset, offset + size)]),
  );
}

export function writeParts(parts: Parts): Buffer {
  const pieces = [...parts].flatMap(([name, content]) => [
    encodeTarHeader(name, content.length),
    content,
    paddingOf(content.length),
  ]);
  return Buffer.concat([...pieces, TAR_END]);
}

export const partOf = (parts: Parts, name: string): Buffer => parts.get(name) ?? Buffer.alloc(0);
export const swap =
  (name: string, from: string, to: string) =>
  (parts: Parts): void => {
    const text = partOf(parts, name).toString('utf8');
    if (!text.includes(from)) throw new Error(`${from} is not in ${name}`);
    parts.set(name, Buffer.from(text.replace(from, to)));
  };
export const editLines =
  (edit: (lines: string[]) => string[]) =>
  (parts: Parts): void => {
    const lines = partOf(parts, 'events.ndjson').toString('utf8').trimEnd().split('\n');
    parts.set(
      'events.ndjson',
      Buffer.from(
        edit(lines)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    );
  };

/** Signs the statement again after an edit of its text: what a signer who errs, or lies, could make. */
export const resign =
  (key: SigningKey, from: RegExp | string, to: string) =>
  async (parts: Parts): Promise<void> => {
    const { payload } = JSON.parse(partOf(parts, 'envelope.json').toString('utf8')) as { payload: string };
    const text = Buffer.from(payload, 'base64').toString('utf8');
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`the statement has no ${String(from)}`);
    parts.set('envelope.json', encodeEnvelope(await signEnvelope(Buffer.from(edited), key)));
  };

/** An event that continues the chain of the last one. */
export function nextLine(last: string): string {
  const event = JSON.parse(last) as Record<string, unknown> & { seq: number; hash: string };
  const { hash: prevHash, ...rest } = event;
  const next = { ...rest, id: 'later', type: 'warning', data: {}, seq: event.seq + 1, prevHash };
  return canonicalJson({ ...next, hash: sha256(Buffer.from(canonicalJson(next))) });
}

export const flip =
  (at: (bytes: Buffer) => number) =>
  (bytes: Buffer): Buffer => {
    const changed = Buffer.from(bytes);
    changed[at(bytes)] = (changed[at(bytes)] ?? 0) ^ 1;
    return changed;
  };

export function reverse(parts: Parts): void {
  const entries = [...parts].reverse();
  parts.clear();
  for (const [name, content] of entries) parts.set(name, content);
}

export const signOther =
  (key: SigningKey) =>
  async (parts: Parts): Promise<void> => {
    const envelope = JSON.parse(partOf(parts, 'envelope.json').toString('utf8')) as { payload: string };
    const other = await signEnvelope(Buffer.from('other bytes'), key);
    parts.set('envelope.json', encodeEnvelope({ ...other, payload: envelope.payload }));
  };

export const signAs =
  (signer: SigningKey, own: SigningKey) =>
  async (parts: Parts): Promise<void> => {
    await resign(signer, JSON.stringify(own.pem), JSON.stringify(signer.pem))(parts);
    parts.set('public-key.pem', Buffer.from(signer.pem));
  };

export const editBlob =
  (from: string, to: string) =>
  (parts: Parts): void => {
    for (const [name, content] of parts)
      if (name.startsWith('blobs/') && content.includes(from)) swap(name, from, to)(parts);
  };
