/** Records in `caisson.yaml`: where blobs are, who signs, which witness gets the seals, and who gets the traces. */
import * as z from 'zod/mini';

import { address, described, named, optional, SecretRef, text } from './config-values.ts';

export const S3Config = z.strictObject({
  bucket: described('ask', text(255), 'Bucket that mirrors the blobs.'),
  prefix: optional('ask', text(1024), 'Key prefix inside the bucket.'),
  region: optional('ask', text(64), 'Region of the bucket.'),
  endpoint: optional('ask', address(), 'Another S3-compatible service.'),
});

export const StoreConfig = z.strictObject({
  s3: optional('ask', S3Config, 'Keep blobs in S3 as well as on this machine.'),
});

export const KeysConfig = z.strictObject({
  signer: optional(
    'ask',
    z
      .string()
      .check(
        z.regex(/^ssh-agent:(\/|~\/)[^\0]+$/, 'must be ssh-agent: and the path of its socket'),
        z.maxLength(4096),
      ),
    'Who signs the evidence: ssh-agent:SOCKET signs with an Ed25519 key of that agent. Default: a key file of yours.',
  ),
  identity: optional(
    'ask',
    text(1024),
    "Which key of the agent signs: its SHA256:… fingerprint or its comment. Default: the agent's only Ed25519 key.",
  ),
});

export const EvidenceConfig = z.strictObject({
  witness: optional(
    'ask',
    text(),
    'File (relative to this file) or http(s) address that gets one line for every seal, so that history cannot be rewritten unseen.',
  ),
});

export const TelemetryConfig = z.strictObject({
  endpoint: described(
    'ask',
    address(),
    'Base address of an OTLP receiver (HTTP), for example http://127.0.0.1:4318. OTEL_EXPORTER_OTLP_ENDPOINT wins.',
  ),
  headers: optional(
    'ask',
    named(SecretRef),
    'Headers of each request, for example authorization: where its value is.',
  ),
  service: optional('ask', text(128), 'service.name of what is exported. Default caisson.'),
});
