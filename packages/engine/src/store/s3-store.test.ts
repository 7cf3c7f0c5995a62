import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Store } from './contract.ts';
import { StoreAccessError } from './errors.ts';
import { S3_CREDENTIALS as credentials, startS3Server } from './fixtures/s3-server.ts';
import { openS3Store } from './s3-store.ts';
import { describeStoreConformance } from './store-conformance.ts';

describeStoreConformance('the S3 store', async () => {
  const { directory, endpoint, stop } = await startS3Server('store');
  const prefixes = new Map<Store, string>();
  let count = 0;
  const filesOf = async (store: Store) => {
    const folder = join(directory, 'store', prefixes.get(store) ?? '', 'blobs');
    return (await readdir(folder)).map((name) => join(folder, name));
  };
  return {
    open: async () => {
      const prefix = `s${(count += 1)}/`;
      const store = openS3Store({ bucket: 'store', prefix, endpoint, credentials });
      prefixes.set(store, prefix);
      return store;
    },
    damage: async (store, digest) => {
      for (const file of await filesOf(store)) {
        if (!file.endsWith(`${digest}._S3rver_object`)) continue;
        const bytes = await readFile(file);
        bytes[0] = (bytes[0] ?? 0) ^ 1;
        await writeFile(file, bytes);
        return;
      }
      throw new Error(`${digest} is not on the server`);
    },
    age: async (store, ms) => {
      const then = (Date.now() - ms) / 1000;
      for (const file of await filesOf(store)) await utimes(file, then, then);
    },
    stop,
  };
});

describe('the S3 store and its server', () => {
  it('reports a missing bucket and an absent server as access errors, never as missing blobs', async () => {
    const { endpoint, stop } = await startS3Server('store');
    const wrongBucket = openS3Store({ bucket: 'elsewhere', endpoint, credentials });
    await expect(wrongBucket.getBlob('0'.repeat(64))).rejects.toThrow(StoreAccessError);
    await expect(wrongBucket.putBlob(Buffer.from('x'))).rejects.toThrow(StoreAccessError);
    await stop();
    const gone = openS3Store({ bucket: 'store', endpoint, credentials });
    await expect(gone.hasBlob('0'.repeat(64))).rejects.toThrow(StoreAccessError);
  });
});
