/** The manifest: everything that went into a run, by digest. Names of environment variables, never their values. */
import { hash } from 'node:crypto';

import { Grant, Mode, RunId, Sha256 } from '@caisson/protocol';
import * as z from 'zod/mini';

import { canonicalJson } from '../ledger/index.ts';
import { parseJson } from './dsse.ts';
import { EvidenceMalformedError } from './errors.ts';

const named = () => z.strictObject({ name: z.string().check(z.maxLength(256)), hash: Sha256 });
const many = <T extends z.ZodMiniType>(item: T, max: number) => z.array(item).check(z.maxLength(max));
const VariableName = z
  .string()
  .check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable'), z.maxLength(256));

export const EvidenceManifest = z.strictObject({
  schemaVersion: z.literal(1),
  runId: RunId,
  continues: z.optional(RunId),
  task: z.looseObject({ id: z.string(), description: z.string() }),
  base: z.strictObject({
    /** The commit that the workspace was made from; null without git. */
    commit: z.nullable(z.string()),
    /** The tree right before the agent began, user's uncommitted work and overlay included. */
    baselineTree: z.nullable(z.string()),
  }),
  agent: z.optional(named()),
  capabilities: many(named(), 256),
  env: z.strictObject({ bundles: many(named(), 256), names: many(VariableName, 4096) }),
  inputs: many(z.strictObject({ key: z.string(), sha256: Sha256 }), 1024),
  prompts: z.optional(z.strictObject({ system: z.optional(Sha256), user: Sha256 })),
  pipeline: z.strictObject({ id: z.string(), hash: Sha256 }),
  policy: z.strictObject({ grant: Grant, ceiling: z.optional(Mode), rulesHash: z.optional(Sha256) }),
  runtime: z.strictObject({
    name: z.string(),
    version: z.nullable(z.string()),
    /** sha256 of the program that was started; null when it is not one file, or the file changed before the seal. */
    binary: z.nullable(Sha256),
    adapter: z.optional(Sha256),
  }),
  /** Empty when none was requested. */
  model: z.strictObject({ requested: z.string() }),
  host: z.strictObject({ caisson: z.string(), node: z.string(), platform: z.string() }),
});
export type EvidenceManifest = z.infer<typeof EvidenceManifest>;

export interface EncodedManifest {
  readonly bytes: Buffer;
  readonly digest: string;
}

/** Validates and encodes; lists without an order are sorted. */
export function encodeManifest(manifest: EvidenceManifest): EncodedManifest {
  const valid = parse(manifest);
  const names = [...new Set(valid.env.names)].toSorted();
  const bytes = Buffer.from(canonicalJson({ ...valid, env: { ...valid.env, names } }));
  return { bytes, digest: hash('sha256', bytes) };
}

export function parseManifest(bytes: Buffer): EvidenceManifest {
  return parse(parseJson(bytes));
}

function parse(value: unknown): EvidenceManifest {
  const parsed = EvidenceManifest.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new EvidenceMalformedError(
    `manifest is malformed at ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}`,
  );
}
