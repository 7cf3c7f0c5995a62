/** Which blobs the record of a run names, and what each is to it. */
import { DispatchAccepted, EvidenceSealed, Result, type ResolvedNames } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { StoredEvent } from '../ledger/index.ts';

export interface NeededBlob {
  readonly digest: string;
  /** Null for what only the registry names. */
  readonly runId: string | null;
  /** `result`, `patch`, `logs/stdout`, `agent reviewer` and the like. */
  readonly what: string;
  readonly isBundle?: true;
}

const Work = z.object({ patchRef: z.optional(z.string()), resultRef: z.optional(z.string()) });

/** What one event names. */
export function listNamedBlobs({ type, runId, data }: StoredEvent): NeededBlob[] {
  if (type === 'dispatch.accepted') return listInputs(runId, data);
  const seal = type === EvidenceSealed.type ? EvidenceSealed.data.safeParse(data).data : undefined;
  const { patchRef, resultRef } = Work.safeParse(data).data ?? {};
  return listDefined(runId, [
    ['seal', seal?.envelopeRef],
    ['manifest', seal?.manifestRef],
    ['patch', patchRef],
    ['result', resultRef],
  ]);
}

/** What a result names; nothing when it is none. */
export function listResultBlobs(runId: string | null, bytes: Buffer): NeededBlob[] {
  const result = Result.safeParse(parseJson(bytes)).data;
  if (result === undefined) return [];
  return listDefined(runId, [
    ['reply', result.reply.ref],
    ['logs/stdout', result.logs.stdout.ref],
    ['logs/stderr', result.logs.stderr.ref],
    ['patch', result.patchRef],
    ...result.outputs.map(({ path, ref }): [string, string] => [path, ref]),
  ]);
}

function listInputs(runId: string | null, data: StoredEvent['data']): NeededBlob[] {
  const { agent, pipeline, env, capabilities } = (data['resolved'] ?? {}) as Partial<
    z.infer<typeof ResolvedNames>
  >;
  const requestRef = data['requestRef'];
  return [
    ...listDefined(runId, [
      ['request', typeof requestRef === 'string' ? requestRef : undefined],
      [`agent ${agent?.name}`, agent?.hash],
      [`pipeline ${pipeline?.id}`, pipeline?.hash],
      ...(env ?? []).map(({ name, hash }): [string, string] => [`env ${name}`, hash]),
      ...listStoredInputs(data).map(({ key, sha256 }): [string, string] => [`input ${key}`, sha256]),
    ]),
    ...(capabilities ?? []).map(({ name, hash }) => ({
      digest: hash,
      runId,
      what: `capability ${name}`,
      isBundle: true as const,
    })),
  ];
}

function listStoredInputs({ inputs = [] }: StoredEvent['data']) {
  const known = DispatchAccepted.data.shape.inputs.safeParse(inputs).data ?? [];
  return known.filter(({ isStored }) => isStored === true);
}

function listDefined(
  runId: string | null,
  named: readonly (readonly [string, string | undefined])[],
): NeededBlob[] {
  return named.flatMap(([what, digest]) => (digest === undefined ? [] : [{ digest, runId, what }]));
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
