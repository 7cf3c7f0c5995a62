/** The index of a pack, made again from what is in the pack. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf } from './digest.ts';
import { inspectBlob, listRescues, openLocalStore, rebuildPacks, StoreAccessError } from './index.ts';
import { encodePackIndex } from './pack-format.ts';

const CONTENTS = ['one', 'two two', 'three three three'].map((text) => Buffer.from(text));
const DIGESTS = CONTENTS.map((bytes) => digestOf(bytes));
const INDEX_BYTES = 3 * 48;
const FOOTER_BYTES = 56;

async function createPack(): Promise<{ folder: string; file: string; bytes: Buffer }> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-rebuild-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await openLocalStore(folder).putBlobs(CONTENTS);
  const [file = ''] = listPacks(folder);
  return { folder, file, bytes: readFileSync(file) };
}

const listPacks = (folder: string): string[] =>
  readdirSync(join(folder, 'packs')).map((name) => join(folder, 'packs', name));

async function listBad(folder: string): Promise<string[]> {
  const problems = await Promise.all(DIGESTS.map((digest) => inspectBlob(openLocalStore(folder), digest)));
  return problems.flatMap((problem) => problem?.digest ?? []);
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

const DAMAGES: [string, (file: string, size: number) => void][] = [
  ['has a flipped bit', (file, size) => flip(file, size - FOOTER_BYTES - 50)],
  ['has a damaged footer', (file, size) => flip(file, size - 3)],
  ['is cut short', (file, size) => truncateSync(file, size - FOOTER_BYTES - 50)],
  ['is gone', (file, size) => truncateSync(file, size - FOOTER_BYTES - INDEX_BYTES)],
];

it.each(DAMAGES)('an index that %s is made again, and the pack is as it was', async (_title, damage) => {
  const { folder, file, bytes } = await createPack();
  expect([...(await listRescues(folder))]).toEqual([]);
  damage(file, bytes.length);
  const early = openLocalStore(folder);
  expect(await listBad(folder)).toEqual(DIGESTS);
  expect((await inspectBlob(early, DIGESTS[0] ?? ''))?.kind).toBe('damaged');
  expect([...(await listRescues(folder))]).toEqual(['whole']);
  expect(await rebuildPacks(folder)).toEqual([{ file, isWhole: true, blobs: 3 }]);
  expect(readFileSync(file)).toEqual(bytes);
  expect(await listBad(folder)).toEqual([]);
  expect(await inspectBlob(early, DIGESTS[0] ?? ''), 'for who looked before').toBeNull();
  expect(await rebuildPacks(folder)).toEqual([]);
});

it('a blob that is damaged as well is the only one that is lost', async () => {
  const { folder, file, bytes } = await createPack();
  flip(file, bytes.indexOf('two two'));
  flip(file, bytes.length - 3);
  expect(await rebuildPacks(folder)).toMatchObject([{ isWhole: true }]);
  expect(await listBad(folder)).toEqual([DIGESTS[1]]);
});

it('of a pack that is cut in a blob those before it are saved, once, and the file stays', async () => {
  const { folder, file, bytes } = await createPack();
  truncateSync(file, bytes.indexOf('three three three') + 4);
  const left = readFileSync(file);
  expect([...(await listRescues(folder))]).toEqual(['partial']);
  expect(await rebuildPacks(folder)).toEqual([{ file, isWhole: false, blobs: 2 }]);
  expect(await listBad(folder)).toEqual([DIGESTS[2]]);
  expect(readFileSync(file)).toEqual(left);
  expect(listPacks(folder)).toHaveLength(2);
  expect([...(await listRescues(folder))], 'nothing is left to promise').toEqual([]);
  expect(await rebuildPacks(folder)).toEqual([]);
});

it('of a pack that cannot be read to its end any more, only blobs that are right and lost are saved', async () => {
  const { folder, file, bytes } = await createPack();
  flip(file, bytes.indexOf('two two'));
  flip(file, bytes.length - 3);
  const rebuilding = rebuildPacks(folder); // has read the records
  truncateSync(file, bytes.indexOf('three three three') + 4);
  expect(await rebuilding).toEqual([{ file, isWhole: false, blobs: 1 }]);
  expect(await listBad(folder)).toEqual(DIGESTS.slice(1));
  expect(await rebuildPacks(folder), 'nothing is reported twice').toEqual([]);
});

it('a pack that cannot be read for another reason than damage is not taken for a damaged one', async () => {
  const { folder, file, bytes } = await createPack();
  flip(file, bytes.length - 3);
  const rebuilding = rebuildPacks(folder); // has read the records
  rmSync(file);
  mkdirSync(file);
  await expect(rebuilding).rejects.toThrow(StoreAccessError);
  expect(listPacks(folder)).toEqual([file]);
  expect(await rebuildPacks(folder)).toEqual([]);
});

it('where a record in front of a blob is damaged, too, the blobs before it are saved', async () => {
  const { folder, file, bytes } = await createPack();
  flip(file, bytes.indexOf('two two') - 12);
  flip(file, bytes.length - 3);
  expect(await rebuildPacks(folder)).toEqual([{ file, isWhole: false, blobs: 1 }]);
  expect(await listBad(folder)).toEqual(DIGESTS.slice(1));
});

it('a pack of an earlier version is read as before, and cannot be rebuilt', async () => {
  const { folder, file } = await createPack();
  let offset = 0;
  const places = CONTENTS.map((bytes, at) => {
    const place = { digest: DIGESTS[at] ?? '', offset, size: bytes.length };
    offset += bytes.length;
    return place;
  });
  const index = encodePackIndex(places);
  rmSync(file);
  const older = join(folder, 'packs', `${index.name}.pack`);
  writeFileSync(older, Buffer.concat([...CONTENTS, index.bytes]));
  expect(await listBad(folder)).toEqual([]);
  flip(older, offset + 50);
  expect([...(await listRescues(folder))]).toEqual([]);
  const left = readFileSync(older);
  expect(await rebuildPacks(folder)).toEqual([]);
  expect(readFileSync(older)).toEqual(left);
});
