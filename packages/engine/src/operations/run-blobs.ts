/** Which blobs the record of a run names, and the role of each. */
import { Result, type DataOf } from '@caisson/protocol';
import type { StoredEvent } from '../ledger/index.ts';

export interface NeededBlob {
  readonly digest: string;
  /** Null for blobs that only the registry names. */
  readonly runId: string | null;
  /** `result`, `patch`, `logs/stdout`, `agent reviewer` and the like. */
  readonly what: string;
  readonly isBundle?: true;
}

/** What one event names. */
export function listNamedBlobs(event: StoredEvent): NeededBlob[] {
  const { runId } = event;
  switch (event.type) {
    case 'dispatch.accepted':
      return listInputs(runId, event.data);
    case 'evidence.sealed':
      return listDefined(runId, [
        ['seal', event.data.envelopeRef],
        ['manifest', event.data.manifestRef],
      ]);
    case 'approval.requested':
      return listDefined(runId, [[`call of ${event.data.approvalId}`, event.data.call?.ref]]);
    case 'attempt.ended':
      return listDefined(runId, [['patch', event.data.patchRef]]);
    case 'dispatch.finished':
    case 'dispatch.needs_input':
    case 'dispatch.failed':
    case 'dispatch.cancelled':
      return listDefined(runId, [
        ['patch', event.data.patchRef],
        ['result', event.data.resultRef],
      ]);
    default:
      return [];
  }
}

/** What a result names; nothing when it is invalid. */
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

function listInputs(
  runId: string | null,
  { requestRef, resolved, inputs = [] }: DataOf<'dispatch.accepted'>,
): NeededBlob[] {
  const { agent, pipeline, env, capabilities } = resolved;
  const stored = inputs.filter(({ isStored }) => isStored === true);
  return [
    ...listDefined(runId, [
      ['request', requestRef],
      [`agent ${agent?.name}`, agent?.hash],
      [`pipeline ${pipeline?.id}`, pipeline?.hash],
      ...env.map(({ name, hash }): [string, string] => [`env ${name}`, hash]),
      ...stored.map(({ key, sha256 }): [string, string] => [`input ${key}`, sha256]),
    ]),
    ...capabilities.map(({ name, hash }) => ({
      digest: hash,
      runId,
      what: `capability ${name}`,
      isBundle: true as const,
    })),
  ];
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
