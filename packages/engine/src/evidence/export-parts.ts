/** The parts of an export and their order. */
import { RunId } from '@caisson/protocol';
import * as z from 'zod/mini';

import { canonicalJson } from '../ledger/index.ts';
import { parseJson } from './dsse.ts';
import { EvidenceMalformedError } from './errors.ts';

export const HEADER_PART = 'caisson-export.json';
export const ENVELOPE_PART = 'envelope.json';
export const KEY_PART = 'public-key.pem';
export const MANIFEST_PART = 'manifest.json';
export const RESULT_PART = 'result.json';
export const EVENTS_PART = 'events.ndjson';

export function blobPart(digest: string): string {
  return `blobs/${digest}`;
}

const Header = z.strictObject({ format: z.literal('caisson/export/1'), runId: RunId });

export function encodeExportHeader(runId: string): Buffer {
  return Buffer.from(`${canonicalJson({ format: 'caisson/export/1', runId })}\n`);
}

/** The run that an export claims. */
export function parseExportHeader(bytes: Buffer): string {
  const parsed = Header.safeParse(parseJson(bytes));
  if (!parsed.success) throw new EvidenceMalformedError('this is not an export that this version knows');
  if (!encodeExportHeader(parsed.data.runId).equals(bytes)) {
    throw new EvidenceMalformedError('export header is not in canonical form');
  }
  return parsed.data.runId;
}
