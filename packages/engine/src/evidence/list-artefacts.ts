import { parseStoredResult, type TerminalType } from '@caisson/protocol';
import type { StoredOf } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import type { Artefact } from './contract.ts';

/** Everything that came out of a run, by its ending and its result. */
export async function listArtefacts(
  store: Store,
  ending: StoredOf<TerminalType>,
  resultBytes: Buffer | null,
): Promise<Artefact[]> {
  const artefacts: Artefact[] = [];
  const { patchRef } = ending.data;
  if (patchRef !== undefined)
    artefacts.push({ name: 'patch', digest: patchRef, size: (await store.getBlob(patchRef)).length });
  if (resultBytes === null) return artefacts;
  const { outputs, reply, logs } = parseStoredResult(ending.runId ?? '', resultBytes);
  return [
    ...artefacts,
    ...outputs.map(({ path, ref, size }) => ({ name: path, digest: ref, size })),
    { name: 'reply', digest: reply.ref, size: reply.bytes },
    { name: 'logs/stdout', digest: logs.stdout.ref, size: logs.stdout.bytes },
    { name: 'logs/stderr', digest: logs.stderr.ref, size: logs.stderr.bytes },
  ];
}
