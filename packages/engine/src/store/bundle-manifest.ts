/** The canonical manifest: entries sorted by path bytes, keys sorted, no white space. Its sha256 is the bundle. */
import { hash } from 'node:crypto';

import { Sha256 } from '@caisson/protocol';
import * as z from 'zod/mini';

import { refuseUnsafePath, refuseUnsafeTree } from './bundle-rules.ts';
import type { BlobRef, BundleEntry, BundleManifest, BundleRef } from './contract.ts';
import { BundleRefusedError } from './errors.ts';

/** Space for some 400 000 files; gc does not look for a manifest in a larger blob. */
export const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
const MANIFEST_PREFIX = '{"bundle":1,"entries":[';

const path = z.string().check(z.minLength(1), z.maxLength(4096));
const Entry = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('file'),
    path,
    mode: z.enum(['644', '755']),
    digest: Sha256,
    size: z.int().check(z.nonnegative()),
  }),
  z.strictObject({ kind: z.literal('link'), path, target: path }),
  z.strictObject({ kind: z.literal('folder'), path }),
]);
const Manifest = z.strictObject({ bundle: z.literal(1), entries: z.array(Entry) });

export interface EncodedManifest {
  readonly bytes: Buffer;
  readonly ref: BundleRef;
}

/** Checks the rules, sorts and encodes. */
export function encodeManifest(entries: readonly BundleEntry[]): EncodedManifest {
  refuseUnsafeTree(entries);
  const sorted = entries.toSorted((left, right) => comparePaths(left.path, right.path));
  const bytes = Buffer.from(`${MANIFEST_PREFIX}${sorted.map(encodeEntry).join(',')}]}`);
  if (bytes.length > MAX_MANIFEST_BYTES) {
    throw new BundleRefusedError(
      'too-many-files',
      '',
      `its manifest would exceed ${MAX_MANIFEST_BYTES} bytes`,
    );
  }
  return { bytes, ref: describe(hash('sha256', bytes), sorted) };
}

/** Whether these bytes claim to be a manifest. */
export function looksLikeManifest(bytes: Buffer): boolean {
  return bytes.subarray(0, MANIFEST_PREFIX.length).equals(Buffer.from(MANIFEST_PREFIX));
}

/** Guards the edge: accepts only our manifests, canonical, and within the rules. */
export function parseManifest(bytes: Buffer): BundleManifest {
  const manifest = readJson(bytes);
  for (const entry of manifest.entries) refuseUnsafePath(entry.path);
  const canonical = encodeManifest(manifest.entries);
  if (!canonical.bytes.equals(bytes)) {
    throw new BundleRefusedError('malformed-manifest', '', 'manifest is not in canonical form');
  }
  return manifest;
}

export function describe(hashOfManifest: string, entries: readonly BundleEntry[]): BundleRef {
  let size = 0;
  let files = 0;
  for (const entry of entries) {
    if (entry.kind !== 'folder') files += 1;
    if (entry.kind === 'file') size += entry.size;
  }
  return { hash: hashOfManifest, size, files };
}

function encodeEntry(entry: BundleEntry): string {
  const name = JSON.stringify(entry.path);
  switch (entry.kind) {
    case 'file':
      return `{"digest":"${entry.digest}","kind":"file","mode":"${entry.mode}","path":${name},"size":${entry.size}}`;
    case 'link':
      return `{"kind":"link","path":${name},"target":${JSON.stringify(entry.target)}}`;
    case 'folder':
      return `{"kind":"folder","path":${name}}`;
  }
}

/** Order of UTF-8 bytes, which is the order of code points and not that of UTF-16 units. */
function comparePaths(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b)
      return a < 0xd800 && b < 0xd800 ? a - b : Buffer.compare(Buffer.from(left), Buffer.from(right));
  }
  return left.length - right.length;
}

function readJson(bytes: Buffer): BundleManifest {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new BundleRefusedError('malformed-manifest', '', `not JSON: ${String(cause)}`);
  }
  const parsed = Manifest.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new BundleRefusedError(
    'malformed-manifest',
    issue?.path.map(String).join('.') ?? '',
    issue?.message ?? 'not a manifest',
  );
}

/** Every content that the entries name, once. */
export function listFiles(entries: BundleManifest['entries']): BlobRef[] {
  const files = new Map<string, BlobRef>();
  for (const entry of entries) if (entry.kind === 'file') files.set(entry.digest, entry);
  return [...files.values()];
}
