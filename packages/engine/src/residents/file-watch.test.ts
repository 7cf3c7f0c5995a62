import { systemClock } from '@caisson/ground';
import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { compilePattern } from '@caisson/policy';
import { expect, onTestFinished, test } from 'vitest';
import { createFileWatch, findBase } from './file-watch.ts';

/** A watch of a real folder. `seen` resolves with the paths of the next report. */
async function openWatch(...patterns: string[]) {
  const root = await mkdtemp(join(tmpdir(), 'file-watch-'));
  await mkdir(join(root, 'results'));
  const warnings: string[] = [];
  const watch = createFileWatch({ root, clock: systemClock, warn: (message) => warnings.push(message) });
  onTestFinished(async () => {
    watch.stop();
    await rm(root, { recursive: true, force: true });
  });
  const reports: string[] = [];
  let wake = (): void => undefined;
  const interests = patterns.map((pattern) => ({
    base: findBase(pattern),
    matches: compilePattern(pattern).matches,
    onChanged(paths: readonly string[]) {
      reports.push(...paths);
      wake();
    },
  }));
  await watch.set(interests);
  const seen = async (path: string): Promise<void> => {
    while (!reports.includes(path)) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { root, watch, reports, seen, interests, warnings };
}

test('a file that changes, comes or goes is reported, and no other', async () => {
  const { root, reports, seen } = await openWatch('results/*.json');
  await writeFile(join(root, 'results/note.txt'), '');
  await writeFile(join(root, 'other.json'), '');
  await writeFile(join(root, 'results/tests.json'), '{}');
  await seen('results/tests.json');
  reports.length = 0;
  await rename(join(root, 'results/tests.json'), join(root, 'results/moved.json'));
  await seen('results/moved.json');
  expect(new Set(reports)).toEqual(new Set(['results/tests.json', 'results/moved.json']));
});

test('folders that come later are watched, with the files that came with them', async () => {
  const { root, seen } = await openWatch('out/**/*.json');
  await mkdir(join(root, 'out/deep/er'), { recursive: true });
  await writeFile(join(root, 'out/deep/er/one.json'), '1');
  await seen('out/deep/er/one.json');
  await writeFile(join(root, 'out/deep/er/two.json'), '2');
  await seen('out/deep/er/two.json');
});

test('a folder that is replaced is watched again', async () => {
  const { root, seen, reports } = await openWatch('results/*.json');
  await rm(join(root, 'results'), { recursive: true });
  await mkdir(join(root, 'results'));
  await writeFile(join(root, 'results/a.json'), '');
  await seen('results/a.json');
  reports.length = 0;
  await writeFile(join(root, 'results/b.json'), '');
  await seen('results/b.json');
});

test(
  '30,000 new files keep nothing waiting, and a folder among them is watched',
  { timeout: 60_000 },
  async () => {
    const { root, seen } = await openWatch('results/**/*.json');
    const making = promisify(execFile)(process.execPath, [
      '-e',
      `const { mkdirSync, writeFileSync } = require('node:fs');
     process.chdir(process.argv[1]);
     for (let n = 0; n < 30_000; n += 1) writeFileSync(String(n), '');
     mkdirSync('deep');
     for (let n = 0; n < 1000; n += 1) writeFileSync('more' + n, '');
     writeFileSync('deep/last.json', '');`,
      join(root, 'results'),
    ]);
    const turns = monitorEventLoopDelay({ resolution: 10 });
    turns.enable();
    let longestAnswerMs = 0;
    let isMade = false;
    void making.then(() => (isMade = true));
    const memoryBefore = process.memoryUsage.rss();
    while (!isMade) {
      const askedAt = performance.now();
      await lstat(root);
      longestAnswerMs = Math.max(longestAnswerMs, performance.now() - askedAt);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await seen('results/deep/last.json');
    turns.disable();
    expect(longestAnswerMs).toBeLessThan(2000);
    expect(turns.max / 1e6).toBeLessThan(2000);
    expect(process.memoryUsage.rss() - memoryBefore).toBeLessThan(300 * 1024 ** 2);
  },
);

test('the folders of git, of Caisson and of installed packages are not watched', async () => {
  const { root, seen, reports } = await openWatch('**/*.json');
  for (const name of ['.git', '.caisson', 'node_modules']) {
    await mkdir(join(root, name));
    await writeFile(join(root, name, 'x.json'), '');
  }
  await writeFile(join(root, 'last.json'), '');
  await seen('last.json');
  expect(new Set(reports)).toEqual(new Set(['last.json']));
});

test('the base of a pattern is the folder before its first wildcard', () => {
  const patterns = ['a/b/*.ts', 'a/b/c.ts', '*.ts', './x.ts', 'name', 'a/**', '**/x'];
  expect(patterns.map(findBase)).toEqual(['a/b', 'a/b', '', '', '', 'a', '']);
});
