import { join } from 'node:path';

import { makeFolder, writeFileAtomic } from '@caisson/ground';

import type { ResultSink } from './contract.ts';
import { encodeEnvelope } from './dsse.ts';

/** A sink that writes `<runId>.envelope.json` and `<runId>.result.json` into a folder; writing again changes nothing. */
export function createFileSink(folder: string): ResultSink {
  return {
    name: `file:${folder}`,
    deliver: async (sealed, signal) => {
      signal?.throwIfAborted();
      makeFolder(folder);
      if (sealed.resultBytes !== null) {
        await writeFileAtomic(join(folder, `${sealed.runId}.result.json`), sealed.resultBytes);
      }
      await writeFileAtomic(join(folder, `${sealed.runId}.envelope.json`), encodeEnvelope(sealed.envelope));
    },
  };
}
