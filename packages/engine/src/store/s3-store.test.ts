import { mkdtemp, readdir, rm, utimes, writeFile, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Store } from './contract.ts';
import { StoreAccessError } from './errors.ts';
import { openS3Store } from './s3-store.ts';
import { describeStoreConformance } from './store-conformance.ts';

interface S3Server {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
}

async function startServer(directory: string): Promise<{ server: S3Server; endpoint: string }> {
  // It ships no types; a specifier that is not a literal keeps the compiler from looking for them.
  const specifier: string = 's3rver';
  const { default: S3rver }: { default: new (options: object) => S3Server } = await import(specifier);
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'store' }],
  });
  const { port } = await server.run();
  return { server, endpoint: `http://127.0.0.1:${port}` };
}

const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

describeStoreConformance('the S3 store', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'caisson-s3-'));
  const { server, endpoint } = await startServer(directory);
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
    stop: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
});

describe('the S3 store and its server', () => {
  it('reports a missing bucket and an absent server as access errors, never as missing blobs', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'caisson-s3-'));
    const { server, endpoint } = await startServer(directory);
    const wrongBucket = openS3Store({ bucket: 'elsewhere', endpoint, credentials });
    await expect(wrongBucket.getBlob('0'.repeat(64))).rejects.toThrow(StoreAccessError);
    await expect(wrongBucket.putBlob(Buffer.from('x'))).rejects.toThrow(StoreAccessError);
    await server.close();
    await rm(directory, { recursive: true, force: true });
    const gone = openS3Store({ bucket: 'store', endpoint, credentials });
    await expect(gone.hasBlob('0'.repeat(64))).rejects.toThrow(StoreAccessError);
  });
});
