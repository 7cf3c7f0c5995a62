import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import {
  adoptStateFolder,
  inspectStateFolder,
  openStateFolder,
  StateFolderError,
  StateFolderRefused,
  StateMarkerError,
  type StatePlace,
} from './index.ts';

function createPlace(state = '.caisson'): StatePlace & { readonly base: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-state-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const projectRoot = join(base, 'project');
  mkdirSync(projectRoot);
  const folders = { home: base, config: base, cache: base, data: base, state: join(base, 'user') };
  return { base, projectRoot, stateDir: join(projectRoot, state), folders };
}

const markers = ({ base }: { base: string }): string[] => readdirSync(join(base, 'user/states'));

test('a state folder is made with all above it, for its owner only, ignores itself, and is ours from then on', () => {
  const place = createPlace('a/b');
  expect(inspectStateFolder(place)).toEqual({ kind: 'absent' });
  const { id, stamp } = openStateFolder(place);
  expect(inspectStateFolder(place)).toEqual({ kind: 'ours', path: place.stateDir });
  const again = openStateFolder(place);
  expect([again.id, again.stamp.unwrap('x', stamp.wrap('x', 'text'))]).toEqual([id, 'text']);
  expect(statSync(place.stateDir).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(place.stateDir, '.gitignore'), 'utf8')).toBe('*\n');
  expect(markers(place)).toEqual([`${id}.json`]);
});

test('an empty folder, a new disk and what a creation that was cut off left are made ours', () => {
  const place = createPlace();
  mkdirSync(join(place.stateDir, 'lost+found'), { recursive: true });
  chmodSync(place.stateDir, 0o1777);
  writeFileSync(join(place.stateDir, 'id'), `${'0'.repeat(32)}\n`);
  writeFileSync(join(place.stateDir, '.gitignore'), '*\n');
  openStateFolder(place);
  expect(statSync(place.stateDir).mode & 0o7777).toBe(0o700);
});

test('all who make one at the same moment get the same, and so do those who find a stale id', async () => {
  const place = createPlace();
  const rounds = Array.from({ length: 30 }, (_, round) => join(place.base, `round-${round}`));
  for (const [round, stateDir] of rounds.entries()) {
    if (round % 2 === 0) continue;
    mkdirSync(stateDir);
    writeFileSync(join(stateDir, 'id'), `${'0'.repeat(32)}\n`);
  }
  const racer = fileURLToPath(new URL('fixtures/race-for-folders.ts', import.meta.url));
  const startAt = Date.now() + 1500;
  const racers = Array.from({ length: 4 }, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      racer,
      JSON.stringify({ places: rounds.map((stateDir) => ({ ...place, stateDir })), startAt, everyMs: 25 }),
    ]);
    return JSON.parse(stdout) as string[];
  });
  const [first, ...others] = await Promise.all(racers);
  expect(first?.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  expect(others).toEqual([first, first, first]);
});

test('a folder with other files is not taken', () => {
  const place = createPlace();
  mkdirSync(place.stateDir);
  writeFileSync(join(place.stateDir, 'setup.sh'), '');
  expect(inspectStateFolder(place)).toMatchObject({ kind: 'refused', reason: 'not-ours' });
  expect(() => openStateFolder(place)).toThrow(StateFolderRefused);
  expect(readdirSync(place.stateDir)).toEqual(['setup.sh']);
});

test('one from before is adopted on request, and gets a secret of its own', () => {
  const place = createPlace();
  mkdirSync(join(place.stateDir, 'store'), { recursive: true, mode: 0o700 });
  chmodSync(place.stateDir, 0o700);
  expect(inspectStateFolder(place)).toMatchObject({ kind: 'adoptable', path: place.stateDir });
  expect(() => openStateFolder(place)).toThrow(expect.objectContaining({ code: 'TRUST_REQUIRED' }));
  adoptStateFolder(place);
  const state = openStateFolder(place);
  expect(state.adoptsLedger).toBe(true);
  state.ledgerIsOurs();
  expect(openStateFolder(place).adoptsLedger).toBe(false);
  chmodSync(place.stateDir, 0o770);
  expect(() => adoptStateFolder(place)).toThrow(StateFolderRefused);
});

test('a copy of one of ours is not ours until it is adopted, and then does not share the secret', () => {
  const place = createPlace();
  const { id } = openStateFolder(place);
  mkdirSync(join(place.stateDir, 'store'));
  const copy = { ...place, stateDir: join(place.base, 'copy') };
  mkdirSync(join(copy.stateDir, 'store'), { recursive: true, mode: 0o700 });
  chmodSync(copy.stateDir, 0o700);
  writeFileSync(join(copy.stateDir, 'id'), readFileSync(join(place.stateDir, 'id')));
  expect(inspectStateFolder(copy)).toMatchObject({
    kind: 'adoptable',
    detail: expect.stringContaining(`a copy of ${place.stateDir}`) as string,
    remedy: expect.stringContaining('or caisson trust --yes') as string,
  });
  adoptStateFolder(copy);
  expect(openStateFolder(copy).id).not.toBe(id);
  expect(openStateFolder(place).id).toBe(id);
});

test('one that was moved is ours, and its marker says where it is now', () => {
  const place = createPlace();
  const { id } = openStateFolder(place);
  const moved = { ...place, stateDir: join(place.base, 'moved') };
  renameSync(place.stateDir, moved.stateDir);
  expect(openStateFolder(moved).id).toBe(id);
  expect(readFileSync(join(place.base, 'user/states', `${id}.json`), 'utf8')).toContain(moved.stateDir);
});

test('markers that others can write are worth nothing', () => {
  const place = createPlace();
  openStateFolder(place);
  chmodSync(join(place.base, 'user/states'), 0o777);
  writeFileSync(join(place.stateDir, 'ledger.db'), '');
  expect(inspectStateFolder(place)).toMatchObject({ kind: 'adoptable' });
});

test('a pipe or a link in the place of the id is neither waited for nor followed', () => {
  const place = createPlace();
  openStateFolder(place);
  writeFileSync(join(place.stateDir, 'ledger.db'), '');
  const file = join(place.stateDir, 'id');
  renameSync(file, join(place.base, 'id'));
  symlinkSync(join(place.base, 'id'), file);
  expect(inspectStateFolder(place)).toMatchObject({ kind: 'adoptable' });
  rmSync(file);
  execFileSync('mkfifo', [file]);
  expect(inspectStateFolder(place)).toMatchObject({ kind: 'adoptable' });
});

test('where nothing can be remembered no folder is left behind, and the remedy is named', () => {
  const place = createPlace();
  writeFileSync(join(place.base, 'user'), 'a file');
  expect(() => openStateFolder(place)).toThrow(StateMarkerError);
  expect(existsSync(place.stateDir)).toBe(false);
});

test('a place that takes no folder is refused instead of tried for ever', () => {
  expect(() => openStateFolder({ ...createPlace(), stateDir: '/proc/caisson/state' })).toThrow(
    StateFolderError,
  );
});

test('a file in the way is named and left as it is', () => {
  const place = createPlace();
  const file = join(place.base, 'file');
  writeFileSync(file, 'mine');
  for (const stateDir of [file, join(file, 'below')])
    expect(() => openStateFolder({ ...place, stateDir })).toThrow(
      `the state folder ${stateDir} cannot be written`,
    );
  expect(readFileSync(file, 'utf8')).toBe('mine');
});

test('a look at one of ours takes less than two milliseconds, also beside a large git index', () => {
  const place = createPlace();
  mkdirSync(join(place.projectRoot, '.git'));
  const index = Buffer.alloc(8 * 1024 * 1024);
  index.write('DIRC');
  index.writeUInt32BE(2, 4);
  writeFileSync(join(place.projectRoot, '.git/index'), index);
  openStateFolder(place);
  const times = Array.from({ length: 50 }, () => {
    const startedAt = performance.now();
    openStateFolder(place);
    return performance.now() - startedAt;
  }).toSorted((left, right) => left - right);
  expect(times[10]).toBeLessThan(2);
});
