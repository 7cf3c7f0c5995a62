/** The same of what keeps and proves the work of runs, and of names. */
import { RegistryKind, Timestamp } from '@caisson/protocol';
import * as z from 'zod/mini';
import { Space } from './answer-schemas.ts';

export const ExportedAnswer = z.object({
  file: z.string(),
  bytes: z.number(),
  events: z.int(),
  keyId: z.string(),
});

const version = { kind: RegistryKind, name: z.string(), hash: z.string() };
const RegistryVersion = z.object({ ...version, version: z.int(), at: Timestamp });
const listed = {
  ...version,
  version: z.nullable(z.int()),
  at: z.nullable(Timestamp),
  source: z.enum(['caisson.yaml', 'registry']),
};

export const ListedNameAnswer = z.object(listed);
export const ShownNameAnswer = z.object({
  ...listed,
  definition: z.unknown(),
  versions: z.array(RegistryVersion),
});
export const RegistrationAnswer = z.object({
  ...RegistryVersion.shape,
  changed: z.boolean(),
  diff: z.array(
    z.object({
      sign: z.enum(['+', '-', '~']),
      path: z.string(),
      before: z.optional(z.string()),
      after: z.optional(z.string()),
    }),
  ),
});

const texts = () => z.array(z.string());
const counted = () => z.number();

export const GarbageAnswer = z.object({
  blobs: counted(),
  bytes: counted(),
  problems: z.array(
    z.object({ digest: z.string(), kind: z.string(), detail: z.string(), file: z.optional(z.string()) }),
  ),
  forgotten: texts(),
  unapplied: texts(),
  keptFor: z.record(z.string(), z.object({ why: z.string(), continuedBy: z.optional(z.string()) })),
  freedBytes: counted(),
  sent: z.nullable(counted()),
  results: counted(),
  spools: counted(),
  logs: counted(),
  workspaces: texts(),
  deleted: z.array(z.object({ ...Space.shape, runId: z.string(), why: z.nullable(z.unknown()) })),
  heldBack: texts(),
  repairedRefs: z.array(
    z.object({
      repository: z.string(),
      ref: z.string(),
      problem: z.string(),
      restoredTo: z.nullable(z.string()),
    }),
  ),
  largest: z.array(Space),
  remotes: z.array(z.object({ ...Space.shape, url: z.nullable(z.string()) })),
  sessions: texts(),
});
