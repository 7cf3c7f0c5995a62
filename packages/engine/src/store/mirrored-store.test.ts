import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { createManualClock } from '@caisson/ground';

import type { Store } from './contract.ts';
import { BlobMissingError, StoreAccessError } from './errors.ts';
import { S3_CREDENTIALS, startS3Server } from './fixtures/s3-server.ts';
import { openLocalStore } from './local-store.ts';
import { openMirroredStore } from './mirrored-store.ts';
import { openS3Store } from './s3-store.ts';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'caisson-mirror-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function mirror(remote?: Store) {
  const work = await temporaryFolder();
  const warnings: string[] = [];
  const clock = createManualClock();
  const local = openLocalStore(join(work, 'local'));
  const other = remote ?? openLocalStore(join(work, 'remote'));
  const open = (name: string) =>
    openMirroredStore({
      local: openLocalStore(join(work, name)),
      remote: other,
      marks: join(work, name, 'unsent'),
      clock,
      warn: (message) => void warnings.push(message),
    });
  const pass = (ms: number) => clock.advance(ms);
  return { work, local, remote: other, store: open('local'), open, warnings, pass };
}

describe('the mirrored store', () => {
  it('has a copy of every blob and bundle in the remote store once a put returned', async () => {
    const { work, store, remote, warnings } = await mirror();
    const blob = await store.putBlob(Buffer.from('one'));
    await writeFile(join(work, 'note.txt'), 'two');
    const file = await store.putBlob(join(work, 'note.txt'));
    const bundle = await store.putBundle(await folderWith('three'));
    expect((await remote.getBlob(blob.digest)).toString()).toBe('one');
    expect((await remote.getBlob(file.digest)).toString()).toBe('two');
    await remote.materialise(bundle.hash, join(work, 'out'));
    expect(await readFile(join(work, 'out', 'file'), 'utf8')).toBe('three');
    expect(warnings).toEqual([]);
  });

  it('reads on another machine what this one put, and keeps it there', async () => {
    const { work, store, open, remote } = await mirror();
    const blob = await store.putBlob(Buffer.from('one'));
    const bundle = await store.putBundle(await folderWith('three'));
    const elsewhere = open('elsewhere');
    expect(await elsewhere.hasBlob(blob.digest)).toBe(true);
    expect((await elsewhere.getBlob(blob.digest)).toString()).toBe('one');
    await elsewhere.materialise(bundle.hash, join(work, 'out'));
    expect(await readFile(join(work, 'out', 'file'), 'utf8')).toBe('three');
    await remote.gc([], { graceMs: 0 });
    expect((await openLocalStore(join(work, 'elsewhere')).getBlob(blob.digest)).toString()).toBe('one');
    await expect(elsewhere.getBlob('0'.repeat(64))).rejects.toThrow(BlobMissingError);
  });

  it('keeps working while the remote store is gone, says so once, and tries again after a rest', async () => {
    const gone = openS3Store({
      bucket: 'store',
      endpoint: 'http://127.0.0.1:1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    });
    const { store, warnings, pass } = await mirror(gone);
    const blob = await store.putBlob(Buffer.from('one'));
    await store.putBlob(Buffer.from('two'));
    expect((await store.getBlob(blob.digest)).toString()).toBe('one');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('on this machine only');
    pass(60_000);
    await store.putBlob(Buffer.from('three'));
    expect(warnings).toHaveLength(2);
    await expect(store.getBlob('0'.repeat(64))).rejects.toThrow(StoreAccessError);
  });

  it('collects on this machine only', async () => {
    const { store, local, remote } = await mirror();
    const { digest } = await store.putBlob(Buffer.from('one'));
    await store.gc([], { graceMs: 0 });
    expect(await local.hasBlob(digest)).toBe(false);
    expect(await remote.hasBlob(digest)).toBe(true);
  });
});

async function startBucket() {
  const { endpoint, down, up, stop } = await startS3Server('store');
  onTestFinished(stop);
  const open = (): Store => openS3Store({ bucket: 'store', endpoint, credentials: S3_CREDENTIALS });
  return { open, down, up };
}

describe('a bucket that was away', () => {
  it('gets what it missed from the next process that reaches it, and only once', async () => {
    const bucket = await startBucket();
    const { open, warnings, pass } = await mirror(bucket.open());
    const first = open('local');
    await bucket.down();
    const blob = await first.putBlob(Buffer.from('one'));
    const bundle = await first.putBundle(await folderWith('three'));
    expect(warnings).toHaveLength(1);
    await bucket.up();
    const [file] = (await first.readManifest(bundle.hash)).entries;
    const missed = [blob.digest, bundle.hash, file?.kind === 'file' ? file.digest : ''];
    const there = bucket.open();
    expect(await Promise.all(missed.map((digest) => there.hasBlob(digest)))).toEqual([false, false, false]);
    pass(60_000);
    const next = open('local');
    await next.putBlob(Buffer.from('four'));
    await next.settle(60_000);
    expect(await Promise.all(missed.map((digest) => there.hasBlob(digest)))).toEqual([true, true, true]);
    expect(await open('local').sendMissing()).toBe(0);
    expect(warnings).toHaveLength(1);
  });

  it('is sent what it missed by the same process too, once its rest is over', async () => {
    const bucket = await startBucket();
    const { store, pass } = await mirror(bucket.open());
    await bucket.down();
    const { digest } = await store.putBlob(Buffer.from('one'));
    await bucket.up();
    pass(60_000);
    await store.putBlob(Buffer.from('two'));
    await store.settle(60_000);
    expect(await bucket.open().hasBlob(digest)).toBe(true);
  });

  it('is sent what other processes marked, without a put, unless it failed a moment ago', async () => {
    const bucket = await startBucket();
    const { open, pass } = await mirror(bucket.open());
    const staying = open('local');
    await staying.sendMarked();
    await bucket.down();
    const { digest } = await open('local').putBlob(Buffer.from('one'));
    await staying.sendMarked();
    await bucket.up();
    await staying.sendMarked();
    expect(await bucket.open().hasBlob(digest)).toBe(false);
    pass(60_000);
    await staying.sendMarked();
    expect(await bucket.open().hasBlob(digest)).toBe(true);
  });

  it('is updated as a whole on request, also after it was emptied', async () => {
    const bucket = await startBucket();
    const { store, local } = await mirror(bucket.open());
    await local.putBlob(Buffer.from('from before there was a bucket'));
    await local.putBundle(await folderWith('three'));
    expect(await store.sendMissing()).toBe(3);
    await bucket.open().gc([], { graceMs: -1000 });
    expect(await store.sendMissing()).toBe(3);
    expect(await store.sendMissing()).toBe(0);
  });

  it('that stays away costs a bounded wait, and the marks stay', async () => {
    const bucket = await startBucket();
    const { store, open, pass } = await mirror(bucket.open());
    await bucket.down();
    await store.putBlob(Buffer.from('one'));
    pass(60_000);
    await open('local').settle(5000);
    await expect(open('local').sendMissing()).rejects.toThrow(StoreAccessError);
    await bucket.up();
    expect(await open('local').sendMissing()).toBe(1);
  });
});

async function folderWith(content: string): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'file'), content);
  return folder;
}
