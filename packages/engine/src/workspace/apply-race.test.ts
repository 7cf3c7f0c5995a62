import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { claimFolder, createStamp } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';

import { installFiles } from './install-files.ts';
import { captureProven, createScratchProject } from './scratch-project-stage.ts';

const SWAPS = 200;
const SWAPPER = fileURLToPath(new URL('./fixtures/swap-folder.ts', import.meta.url));

it('a folder that is swapped for a link 200 times and more makes no install write, remove or make anything outside', async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-race-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [root, outside, work] = ['project', 'outside', 'work'].map((name) => join(base, name));
  for (const folder of [root, outside, work]) mkdirSync(folder ?? '');
  mkdirSync(join(root ?? '', 'dir'));
  writeFileSync(join(root ?? '', 'dir/stays.txt'), 'so that no undo finds the folder empty\n');
  const seen = { 'old.txt': 'outside\n', 'gone.txt': 'outside\n' };
  for (const [name, text] of Object.entries(seen)) writeFileSync(join(outside ?? '', name), text);
  mkdirSync(join(outside ?? '', 'empty'));
  const swapper = spawn(process.execPath, [SWAPPER, join(root ?? '', 'dir'), outside ?? ''], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void swapper.kill('SIGKILL'));
  let printed = '';
  swapper.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await once(swapper.stdout, 'data');
  const ended = once(swapper, 'exit');
  let refused = 0;
  for (let round = 0; round < SWAPS; round += 1) {
    const folder = join(work ?? '', `apply-${round}`);
    const staging = join(folder, 'files');
    for (const name of ['', 'deep', 'empty']) mkdirSync(join(staging, 'dir', name), { recursive: true });
    writeFileSync(join(staging, 'dir/old.txt'), `new ${round}\n`);
    writeFileSync(join(staging, `dir/deep/${round}.txt`), 'new\n');
    rmSync(join(staging, 'dir/empty'), { recursive: true });
    writeFileSync(join(staging, 'dir/empty'), 'a file takes the place of an empty folder\n');
    const paths = ['dir/old.txt', 'dir/gone.txt', `dir/deep/${round}.txt`, 'dir/empty'];
    await installFiles({
      root: root ?? '',
      staging,
      folder,
      paths: paths.map((path) => Buffer.from(path)),
      stamp: createStamp(Buffer.from('a secret')),
    }).catch(() => (refused += 1));
  }
  swapper.stdin.end();
  await ended;
  expect(readdirSync(outside ?? '').toSorted()).toEqual(['empty', 'gone.txt', 'old.txt']);
  expect(readdirSync(join(outside ?? '', 'empty'))).toEqual([]);
  for (const [name, text] of Object.entries(seen))
    expect(readFileSync(join(outside ?? '', name), 'utf8')).toBe(text);
  expect(Number(printed.trim().split('\n').at(-1))).toBeGreaterThan(SWAPS);
  expect(refused).toBeGreaterThan(0);
});

it('nothing is applied while a run works in place in the same folder', async () => {
  const project = createScratchProject();
  onTestFinished(() => project.dispose());
  project.write('a.txt', 'one\n');
  project.commit('first');
  const prepared = await project.prepare();
  writeFileSync(join(prepared.path, 'a.txt'), 'two\n');
  const { patch } = await captureProven(prepared);
  const options = { projectRoot: project.root, stateDir: project.stateDir, patch, baseCommit: null };
  const claim = await claimFolder(project.root, 'run_of_another', join(project.home, '.local/state/caisson'));
  await expect(project.workspaces.apply({ ...options, threeWay: true })).rejects.toMatchObject({
    code: 'FOLDER_IN_USE',
    message: expect.stringContaining('run_of_another') as string,
  });
  expect(project.read('a.txt')).toBe('one\n');
  if (claim.kind === 'claimed') claim.release();
  await expect(project.workspaces.apply({ ...options, threeWay: true })).resolves.toMatchObject({
    kind: 'applied',
  });
  expect(project.read('a.txt')).toBe('two\n');
});
