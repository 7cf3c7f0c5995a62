// Real seals for some of the runs that did not happen, so that a verification of all of them has good ones, too.
import {
  composeManifest,
  listArtefacts,
  openKeyring,
  prepareSeal,
  signSeal,
} from '../../packages/engine/src/evidence/index.ts';
import type { StoredEvent } from '../../packages/engine/src/ledger/index.ts';
import type { Store } from '../../packages/engine/src/store/index.ts';
import { isEnding } from '../../packages/protocol/src/index.ts';
import type { FilledStore, RunBlobs } from './fill-store.ts';

type Seal = Awaited<ReturnType<typeof signSeal>>['sealRef'];
type Link = Parameters<typeof signSeal>[2];

/** Signs a run with these events as the next link of the chain. */
export type SignRun = (events: readonly StoredEvent[], blobs: RunBlobs, link: Link) => Promise<Seal>;

export async function openSigning(keys: string, { put }: FilledStore): Promise<SignRun> {
  const key = await openKeyring(keys).getSigningKey();
  const putBlob = async (bytes: Buffer) => ({ digest: await put(bytes), size: bytes.length });
  const putBlobs = async (contents: readonly Buffer[]) => {
    const refs = [];
    for (const bytes of contents) refs.push(await putBlob(bytes));
    return refs;
  };
  const host = { version: '0.0.0', ceiling: undefined, digestProgram: () => Promise.resolve(null) };
  return async (events, blobs, link) => {
    const getBlob = async (digest: string) => blobs.bytes.get(digest);
    // Everything that is asked for was put a moment ago.
    const store = { putBlob, putBlobs, getBlob, hasBlob: async () => true } as unknown as Store;
    const ending = events.findLast((event) => isEnding(event));
    const runId = ending?.runId ?? '';
    if (ending === undefined) throw new Error(`${runId} has not ended`);
    const manifest = await composeManifest(host, runId, events);
    const resultBytes = blobs.bytes.get(ending.data.resultRef ?? '') ?? null;
    const artefacts = await listArtefacts(store, ending, resultBytes);
    const parts = { store, runId, events, manifest, resultBytes, artefacts };
    return (await signSeal(await prepareSeal(parts), key, link)).sealRef;
  };
}
