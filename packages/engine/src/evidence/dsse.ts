/** DSSE v1.0: the signature covers the pre-authentication encoding, so type and payload cannot be swapped. */
import { verify } from 'node:crypto';

import * as z from 'zod/mini';

import { canonicalJson } from '../ledger/index.ts';
import type { DsseEnvelope, PublicKey, SigningKey } from './contract.ts';
import { EvidenceMalformedError } from './errors.ts';

export const IN_TOTO_TYPE = 'application/vnd.in-toto+json';

const Envelope = z.strictObject({
  payloadType: z.literal(IN_TOTO_TYPE),
  payload: z.string(),
  signatures: z
    .array(z.strictObject({ keyid: z.string().check(z.regex(/^[0-9a-f]{64}$/)), sig: z.string() }))
    .check(z.length(1)),
});

/** `DSSEv1 SP len(type) SP type SP len(body) SP body`, lengths in bytes. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

export async function signEnvelope(payload: Uint8Array, key: SigningKey): Promise<DsseEnvelope> {
  const sig = (await key.sign(preAuthEncoding(IN_TOTO_TYPE, payload))).toString('base64');
  return {
    payloadType: IN_TOTO_TYPE,
    payload: Buffer.from(payload).toString('base64'),
    signatures: [{ keyid: key.keyId, sig }],
  };
}

export interface ReadEnvelope {
  readonly payload: Buffer;
  readonly keyId: string;
  readonly signature: Buffer;
}

export function encodeEnvelope(envelope: DsseEnvelope): Buffer {
  return Buffer.from(canonicalJson(envelope));
}

/** An envelope of our own store, as it was signed. */
export function parseStoredEnvelope(bytes: Buffer): DsseEnvelope {
  const { payload, keyId, signature } = parseEnvelope(bytes);
  return {
    payloadType: IN_TOTO_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: keyId, sig: signature.toString('base64') }],
  };
}

/** Guards the edge. Only the one canonical text passes: base64 and JSON both allow silent changes. */
export function parseEnvelope(bytes: Buffer): ReadEnvelope {
  const parsed = Envelope.safeParse(parseJson(bytes));
  if (!parsed.success)
    throw new EvidenceMalformedError('envelope is not a DSSE envelope around an in-toto statement');
  const [only] = parsed.data.signatures;
  if (only === undefined) throw new EvidenceMalformedError('envelope has no signature');
  const payload = Buffer.from(parsed.data.payload, 'base64');
  const signature = Buffer.from(only.sig, 'base64');
  const canonical = encodeEnvelope({
    payloadType: IN_TOTO_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: only.keyid, sig: signature.toString('base64') }],
  });
  if (!canonical.equals(bytes)) throw new EvidenceMalformedError('envelope is not in canonical form');
  return { payload, keyId: only.keyid, signature };
}

export function verifyEnvelope(envelope: ReadEnvelope, key: PublicKey): boolean {
  return verify(null, preAuthEncoding(IN_TOTO_TYPE, envelope.payload), key.key, envelope.signature);
}

/** JSON of any kind, or an error that names the expected form. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new EvidenceMalformedError(`not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
