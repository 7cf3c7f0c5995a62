import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Store } from '../contract.ts';

export interface StoreFixture {
  /** A fresh, empty store. */
  open(): Promise<Store>;
  /** Changes the stored bytes of a blob without the store. */
  damage(store: Store, digest: string): Promise<void>;
  /** Makes everything in the store look this old. */
  age(store: Store, ms: number): Promise<void>;
}

export type StartStore = () => Promise<StoreFixture & { stop(): Promise<void> }>;

/** What one test works with: its own store, and a folder for its files. Filled before each test. */
export interface StoreAtHand {
  fixture: StoreFixture;
  store: Store;
  work: string;
  freshFolder(): Promise<string>;
  writeTree(files: Record<string, string | Buffer>): Promise<string>;
}

export function useStore(start: StartStore): StoreAtHand {
  const at = { freshFolder: () => mkdtemp(join(at.work, 'd-')), writeTree } as StoreAtHand;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const fixture = await start();
    stop = () => fixture.stop();
    at.fixture = fixture;
    at.work = await mkdtemp(join(tmpdir(), 'caisson-store-test-'));
  });
  afterAll(async () => {
    await stop();
    await rm(at.work, { recursive: true, force: true });
  });
  beforeEach(async () => {
    at.store = await at.fixture.open();
  });
  return at;

  async function writeTree(files: Record<string, string | Buffer>): Promise<string> {
    const root = await at.freshFolder();
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(root, path, '..'), { recursive: true });
      await writeFile(join(root, path), content);
    }
    return root;
  }
}
