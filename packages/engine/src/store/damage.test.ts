/** Damage in a store is named, does not affect the rest, and is never mistaken for something else. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { digestOf } from './digest.ts';
import {
  BlobMissingError,
  inspectBlob,
  openLocalStore,
  rebuildPacks,
  StoreAccessError,
  StoreCorruptError,
} from './index.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-damage-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => openLocalStore(join(folder, 'store'));
const fileOf = (digest: string): string => join(folder, 'store/blobs', digest.slice(0, 2), digest.slice(2));
const packFile = (): string => {
  const packs = join(folder, 'store/packs');
  return join(packs, readdirSync(packs).find((name) => name.endsWith('.pack')) ?? '');
};
const put = async (text: string): Promise<string> => (await open().putBlob(Buffer.from(text))).digest;

async function putBundle(): Promise<{ hash: string; digests: string[] }> {
  const source = join(folder, 'source');
  mkdirSync(source);
  for (const name of ['one', 'two']) writeFileSync(join(source, name), `content of ${name}`);
  const { hash } = await open().putBundle(source);
  return { hash, digests: ['one', 'two'].map((name) => digestOf(Buffer.from(`content of ${name}`))) };
}

function flip(file: string, text: string): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf(text);
  expect(at).toBeGreaterThanOrEqual(0);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

const DAMAGES: [string, string, (file: string) => void][] = [
  ['flipped', 'damaged', (file) => flip(file, 'bytes')],
  ['truncated', 'damaged', (file) => truncateSync(file, 3)],
  ['missing', 'missing', (file) => rmSync(file)],
  ['unreadable', 'unreadable', (file) => (rmSync(file), mkdirSync(file))],
];

it('content that is put again replaces the damaged copy, also in a pack', async () => {
  const bad = await put('some bytes');
  flip(fileOf(bad), 'bytes');
  expect(await put('some bytes')).toBe(bad);
  expect(await inspectBlob(open(), bad)).toBeNull();
  const { digests } = await putBundle();
  flip(packFile(), 'content of one');
  await put('content of one');
  expect((await open().getBlob(digests[0] ?? '')).toString()).toBe('content of one');
});

it.each(DAMAGES)('a %s blob is %s, and replaced by the right bytes alone', async (_title, kind, damage) => {
  const [sound, bad] = [await put('sound'), await put('some bytes')];
  damage(fileOf(bad));
  expect(await inspectBlob(open(), sound)).toBeNull();
  expect(await inspectBlob(open(), bad)).toMatchObject({ digest: bad, kind });
  await expect(open().replaceBlob(bad, Readable.from([Buffer.from('others')]))).rejects.toThrow(
    StoreCorruptError,
  );
  expect(await inspectBlob(open(), bad)).toMatchObject({ kind });
  await open().replaceBlob(bad, Readable.from([Buffer.from('some bytes')]));
  expect(await inspectBlob(open(), bad)).toBeNull();
});

it.each(DAMAGES)(
  'gc names a root that is %s (%s) and removes the garbage all the same',
  async (_t, kind, damage) => {
    const [root, garbage] = [await put('some bytes'), await put('garbage')];
    damage(fileOf(root));
    const report = await open().gc([root], { graceMs: -1, bundles: new Set() });
    expect(report.removedBlobs).toBe(1);
    expect([...report.missing, ...report.problems.map(({ digest }) => digest)]).toEqual([root]);
    expect(report.problems.map((problem) => problem.kind)).toEqual(kind === 'missing' ? [] : [kind]);
    expect(await open().hasBlob(garbage)).toBe(false);
  },
);

it('gc removes nothing while a bundle that something may be reached by is damaged', async () => {
  const { hash, digests } = await putBundle();
  flip(packFile(), '"entries"');
  const garbage = await put('garbage');
  const report = await open().gc([hash], { graceMs: -1, bundles: new Set([hash]) });
  expect(report).toMatchObject({ removedBlobs: 0, problems: [{ digest: hash, kind: 'damaged' }] });
  for (const digest of [...digests, garbage]) expect(await open().hasBlob(digest)).toBe(true);
});

it('a pack whose index is damaged hides nothing else, and nothing is put into it', async () => {
  const { digests } = await putBundle();
  const sound = await put('sound');
  truncateSync(packFile(), 40);
  expect(await inspectBlob(open(), sound)).toBeNull();
  expect(await inspectBlob(open(), digests[0] ?? '')).toMatchObject({ kind: 'damaged' });
  await expect(open().getBlob('0'.repeat(64))).rejects.toThrow(StoreCorruptError);
  await put('new');
  const report = await open().gc([sound], { graceMs: -1, bundles: new Set() });
  expect(report).toMatchObject({ removedBlobs: 1, problems: [{ kind: 'damaged' }] });
  rmSync(packFile());
  await expect(open().getBlob('0'.repeat(64))).rejects.toThrow(BlobMissingError);
});

it('a named pipe, a link and a record of gigabytes in the place of a pack are damage, and nobody waits', async () => {
  const sound = await put('sound');
  const packs = join(folder, 'store/packs');
  mkdirSync(packs, { recursive: true });
  execFileSync('mkfifo', [join(packs, `${'e'.repeat(64)}.pack`)]);
  symlinkSync('/etc/passwd', join(packs, `${'d'.repeat(64)}.pack`));
  const large = join(packs, `${'c'.repeat(64)}.pack`);
  const record = Buffer.alloc(48);
  record.writeBigUInt64BE(48n, 32);
  record.writeBigUInt64BE(2n ** 32n, 40);
  writeFileSync(large, record);
  truncateSync(large, 2 ** 32 + 200);
  expect((await open().getBlob(sound)).toString()).toBe('sound');
  expect(await rebuildPacks(join(folder, 'store'))).toEqual([]);
  await expect(open().getBlob('0'.repeat(64))).rejects.toThrow('3 packs');
});

it('a blob that is damaged in its pack is replaced by a file of its own, and gc makes a sound pack', async () => {
  const { hash, digests } = await putBundle();
  const [one = '', two = ''] = digests;
  flip(packFile(), 'content of one');
  expect(await inspectBlob(open(), one)).toMatchObject({ kind: 'damaged' });
  await open().replaceBlob(one, Readable.from([Buffer.from('content of one')]));
  expect(await inspectBlob(open(), one)).toBeNull();
  // The manifest is garbage here, so the pack is written again.
  await open().gc([one, two], { graceMs: -1, bundles: new Set() });
  expect(await open().hasBlob(hash)).toBe(false);
  for (const digest of digests) expect(await inspectBlob(open(), digest)).toBeNull();
});

it('a blob that is damaged in one pack is read from another', async () => {
  const { digests } = await putBundle();
  const [one = '', two = ''] = digests;
  const bytes = readFileSync(packFile());
  const other = openLocalStore(join(folder, 'other'));
  mkdirSync(join(folder, 'one-file'));
  writeFileSync(join(folder, 'one-file/one'), 'content of one');
  await other.putBundle(join(folder, 'one-file'));
  for (const name of readdirSync(join(folder, 'other/packs')))
    cpSync(join(folder, 'other/packs', name), join(folder, 'store/packs', name));
  for (const name of readdirSync(join(folder, 'store/packs'))) {
    const file = join(folder, 'store/packs', name);
    if (readFileSync(file).equals(bytes)) flip(file, 'content of one');
  }
  expect(await inspectBlob(open(), one)).toBeNull();
  expect(await inspectBlob(open(), two)).toBeNull();
});

it('empty content is lost with no pack, and needs no file that an earlier version made for it', async () => {
  const empty = digestOf(new Uint8Array());
  await open().putBlobs([Buffer.from('beside'), new Uint8Array()]);
  truncateSync(packFile(), 20);
  expect(await inspectBlob(open(), empty)).toBeNull();
  mkdirSync(join(fileOf(empty), '..'), { recursive: true });
  writeFileSync(fileOf(empty), 'damaged');
  expect(await inspectBlob(open(), empty)).toBeNull();
  expect(await open().gc([], { graceMs: -1 })).toMatchObject({ removedBlobs: 1 });
  expect(existsSync(fileOf(empty))).toBe(false);
});

it('a blob that only a broken pack may have is named with that pack, and with what to do', async () => {
  const [{ digest } = { digest: '' }] = await open().putBlobs([
    Buffer.from('of two runs'),
    Buffer.from('of one'),
  ]);
  truncateSync(packFile(), 20);
  const error = await open()
    .getBlob(digest)
    .catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(StoreCorruptError);
  expect(error).toMatchObject({
    digest,
    message: expect.stringContaining(
      `${digest} is found nowhere else, and may be in ${packFile()}`,
    ) as string,
    remedy: expect.stringContaining('caisson doctor --repair') as string,
  });
});

it('a blob that only a pack that may not be opened can have is reported with what to do about that', async () => {
  const first = await open().putBlobs([Buffer.from('one'), Buffer.from('two')]);
  const second = await open().putBlobs([Buffer.from('three'), Buffer.from('four')]);
  for (const name of readdirSync(join(folder, 'store/packs'))) {
    rmSync(join(folder, 'store/packs', name));
    mkdirSync(join(folder, 'store/packs', name)); // cannot be read, also not by root
  }
  for (const { digest } of [...first, ...second]) {
    const error = await open()
      .getBlob(digest)
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StoreAccessError);
    expect(error).toMatchObject({
      message: expect.stringContaining(`one of 2 packs that cannot be used, such as ${packFile()}`) as string,
      remedy: 'Check the permissions of the store folder and the health of the disk.',
    });
  }
});
