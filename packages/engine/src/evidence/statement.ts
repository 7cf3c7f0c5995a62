/** The in-toto Statement v1 with a SLSA v1 provenance predicate that binds a run's inputs, events and outputs. */
import { Sha256 } from '@caisson/protocol';
import * as z from 'zod/mini';

import { canonicalJson, type StoredEvent } from '../ledger/index.ts';
import type { Artefact, PublicKey, SealLink } from './contract.ts';
import { parseJson } from './dsse.ts';
import { EvidenceMalformedError } from './errors.ts';
import type { EvidenceManifest } from './manifest.ts';

export const BUILD_TYPE = 'urn:caisson:run:v1';
export const RESULT_SUBJECT = 'result.json';
export const MANIFEST_SUBJECT = 'manifest.json';

const Digest = z.looseObject({ sha256: Sha256 });
const Descriptor = z.looseObject({ name: z.string(), digest: Digest });

const Statement = z.strictObject({
  _type: z.literal('https://in-toto.io/Statement/v1'),
  subject: z.array(Descriptor).check(z.minLength(1)),
  predicateType: z.literal('https://slsa.dev/provenance/v1'),
  predicate: z.looseObject({
    buildDefinition: z.looseObject({
      buildType: z.literal(BUILD_TYPE),
      internalParameters: z.looseObject({
        manifest: Digest,
        events: z.strictObject({ count: z.int().check(z.nonnegative()), head: Sha256, merkleRoot: Sha256 }),
        artefacts: z.array(z.strictObject({ name: z.string(), digest: Sha256, size: z.int() })),
        publicKey: z.string(),
        /** Absent in statements of the first versions. */
        chain: z.optional(
          z.strictObject({
            ledger: z.string(),
            number: z.int().check(z.positive()),
            previous: z.nullable(Sha256),
          }),
        ),
      }),
    }),
    runDetails: z.looseObject({ metadata: z.looseObject({ invocationId: z.string() }) }),
  }),
});

/** What a verifier reads from a statement. */
export interface ReadStatement {
  readonly runId: string;
  readonly manifestDigest: string;
  readonly events: { readonly count: number; readonly head: string; readonly merkleRoot: string };
  /** null when the run ended without a result. */
  readonly resultDigest: string | null;
  readonly artefacts: readonly Artefact[];
  readonly publicKeyPem: string;
  readonly chain: SealLink | null;
}

export interface StatementInput {
  readonly manifest: EvidenceManifest;
  readonly manifestDigest: string;
  readonly events: readonly StoredEvent[];
  readonly merkleRoot: string;
  readonly resultDigest: string | null;
  readonly artefacts: readonly Artefact[];
  readonly key: PublicKey;
  readonly chain: SealLink | null;
}

/** The bytes that are signed. */
export function encodeStatement(input: StatementInput): Buffer {
  const { manifest } = input;
  return Buffer.from(
    canonicalJson({
      _type: 'https://in-toto.io/Statement/v1',
      subject: listSubjects(input),
      predicateType: 'https://slsa.dev/provenance/v1',
      predicate: {
        buildDefinition: {
          buildType: BUILD_TYPE,
          externalParameters: {
            task: manifest.task,
            runtime: manifest.runtime.name,
            model: manifest.model.requested,
            mode: manifest.policy.grant.mode,
          },
          internalParameters: {
            manifest: { sha256: input.manifestDigest },
            events: {
              count: input.events.length,
              head: input.events.at(-1)?.hash,
              merkleRoot: input.merkleRoot,
            },
            artefacts: input.artefacts,
            publicKey: input.key.pem,
            ...(input.chain === null ? {} : { chain: input.chain }),
          },
          resolvedDependencies: listDependencies(manifest),
        },
        runDetails: {
          builder: { id: `urn:caisson:key:${input.key.keyId}`, version: { caisson: manifest.host.caisson } },
          metadata: {
            invocationId: manifest.runId,
            startedOn: input.events[0]?.at,
            finishedOn: input.events.at(-1)?.at,
          },
          byproducts: [{ name: 'events', digest: { sha256: input.merkleRoot } }],
        },
      },
    }),
  );
}

export function parseStatement(bytes: Buffer): ReadStatement {
  const parsed = Statement.safeParse(parseJson(bytes));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new EvidenceMalformedError(`statement is malformed at ${issue?.path.map(String).join('.') ?? ''}`);
  }
  const { subject, predicate } = parsed.data;
  const parameters = predicate.buildDefinition.internalParameters;
  return {
    runId: predicate.runDetails.metadata.invocationId,
    manifestDigest: parameters.manifest.sha256,
    events: parameters.events,
    resultDigest: subject.find((found) => found.name === RESULT_SUBJECT)?.digest.sha256 ?? null,
    artefacts: parameters.artefacts,
    publicKeyPem: parameters.publicKey,
    chain: parameters.chain ?? null,
  };
}

/** A statement needs a subject: a run without any result is about its own manifest. */
function listSubjects(input: StatementInput): unknown[] {
  const result =
    input.resultDigest === null ? [] : [{ name: RESULT_SUBJECT, digest: { sha256: input.resultDigest } }];
  const files = input.artefacts.map(({ name, digest }) => ({ name, digest: { sha256: digest } }));
  const subjects = [...result, ...files];
  return subjects.length > 0
    ? subjects
    : [{ name: MANIFEST_SUBJECT, digest: { sha256: input.manifestDigest } }];
}

function listDependencies(manifest: EvidenceManifest): unknown[] {
  const byHash = (kind: string, items: readonly { name: string; hash: string }[]) =>
    items.map((item) => ({ name: `${kind}/${item.name}`, digest: { sha256: item.hash } }));
  const { base, runtime } = manifest;
  return [
    ...(base.commit === null ? [] : [{ name: 'base', digest: { gitCommit: base.commit } }]),
    ...(base.baselineTree === null ? [] : [{ name: 'baseline', digest: { gitTree: base.baselineTree } }]),
    ...(manifest.agent === undefined ? [] : byHash('agent', [manifest.agent])),
    ...byHash('capability', manifest.capabilities),
    ...byHash('env', manifest.env.bundles),
    { name: `pipeline/${manifest.pipeline.id}`, digest: { sha256: manifest.pipeline.hash } },
    ...manifest.inputs.map((input) => ({ name: `input/${input.key}`, digest: { sha256: input.sha256 } })),
    ...(runtime.binary === null
      ? []
      : [{ name: `runtime/${runtime.name}`, digest: { sha256: runtime.binary } }]),
  ];
}
