// What runs leave in a store, quickly: many small blobs in one pack, as a host that tidies keeps them.
import { hash } from 'node:crypto';
import { SAMPLE_GRANT } from '../../packages/protocol/src/fixtures/sample-events.ts';
import { createLayout } from '../../packages/engine/src/store/local-layout.ts';
import { PackWriter } from '../../packages/engine/src/store/pack-writer.ts';

/** A pack of this many is some 20 MB. */
const BLOBS_IN_PACK = 50_000;

export interface FilledStore {
  /** Resolves with the digest. */
  put(bytes: Buffer): Promise<string>;
  /** Makes visible what was put. */
  commit(): Promise<void>;
}

export function openFilledStore(folder: string): FilledStore {
  const layout = createLayout(folder);
  let writer = new PackWriter(layout);
  const commit = async (): Promise<void> => {
    if (writer.count > 0) await writer.commit();
    writer = new PackWriter(layout);
  };
  return {
    async put(bytes) {
      const digest = hash('sha256', bytes);
      await writer.add(digest, bytes);
      if (writer.count >= BLOBS_IN_PACK) await commit();
      return digest;
    },
    commit,
  };
}

/** The blobs of one run, each different from those of any other. */
export interface RunBlobs {
  readonly requestRef: string;
  readonly resultRef: string;
  readonly patchRef: string;
  /** Result and patch. */
  readonly bytes: ReadonlyMap<string, Buffer>;
}

export async function putRunBlobs({ put }: FilledStore, runId: string): Promise<RunBlobs> {
  const text = (what: string): Buffer => Buffer.from(`${what} of ${runId}\n`);
  const patch = Buffer.from(
    `diff --git a/${runId} b/${runId}\nnew file mode 100644\n--- /dev/null\n+++ b/${runId}\n@@ -0,0 +1 @@\n+made\n`,
  );
  const requestRef = await put(Buffer.from(JSON.stringify({ task: `task of ${runId}` })));
  const patchRef = await put(patch);
  const [reply, stdout, stderr] = [
    await put(text('reply')),
    await put(text('stdout')),
    await put(text('stderr')),
  ];
  const captured = (ref: string, what: string): object => ({
    ref,
    bytes: text(what).length,
    truncated: false,
  });
  const result = {
    ...{ schemaVersion: 1, runId, attempt: 1, nonce: hash('sha256', runId), status: 'finished', exitCode: 0 },
    ...{ durationMs: 12, outputs: [], blocks: [{ kind: 'agent', ordinal: 0, status: 'ok', durationMs: 11 }] },
    ...{ patchRef, reply: { ref: reply, head: `reply of ${runId}\n`, bytes: text('reply').length } },
    policy: { grant: SAMPLE_GRANT, enforced: {}, denials: [] },
    logs: { stdout: captured(stdout, 'stdout'), stderr: captured(stderr, 'stderr') },
  };
  const bytes = Buffer.from(JSON.stringify(result));
  const resultRef = await put(bytes);
  const kept = new Map([
    [resultRef, bytes],
    [patchRef, patch],
  ]);
  return { requestRef, resultRef, patchRef, bytes: kept };
}
