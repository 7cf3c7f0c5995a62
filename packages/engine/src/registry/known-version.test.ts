import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { recallVersion } from './known-version.ts';

let folder: string;
let userState: string;
let asked: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-known-'));
  userState = join(folder, 'state');
  mkdirSync(userState, { mode: 0o700 });
  asked = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string): string {
  const path = join(folder, name);
  rmSync(path, { force: true });
  copyFileSync('/bin/true', path);
  return path;
}

const recall = (path: string, answer: string | null = '1.2.3'): Promise<string | null> =>
  recallVersion({ path, args: ['--version'], userState }, () => {
    asked += 1;
    return Promise.resolve(answer);
  });

it('a program is asked once, and again when another file is in its place', async () => {
  const path = program('agent');
  symlinkSync(path, join(folder, 'link'));
  expect([await recall(path), await recall(path), await recall(join(folder, 'link'))]).toEqual(
    Array(3).fill('1.2.3'),
  );
  expect(asked).toBe(1);
  utimesSync(program('agent'), 0, 0);
  expect([await recall(path, '2.0.0'), await recall(path)]).toEqual(['2.0.0', '2.0.0']);
  expect(asked).toBe(2);
});

it('what gave no version is asked again', async () => {
  const path = program('agent');
  expect([await recall(path, null), await recall(path)]).toEqual([null, '1.2.3']);
  expect(asked).toBe(2);
});

it('a script, and a link to a version manager, are asked each time', async () => {
  const script = join(folder, 'script');
  writeFileSync(script, '#!/bin/sh\nexec other "$@"\n', { mode: 0o755 });
  symlinkSync(program('volta-shim'), join(folder, 'agent'));
  for (const path of [script, script, join(folder, 'agent'), join(folder, 'agent')]) await recall(path);
  expect(asked).toBe(4);
});

it('nothing is read from a folder that others can write, and none is made', async () => {
  const path = program('agent');
  await recall(path);
  chmodSync(userState, 0o777);
  await recall(path);
  expect(asked).toBe(2);
  rmSync(userState, { recursive: true });
  await recall(path);
  expect([asked, existsSync(userState)]).toEqual([3, false]);
});

it('a damaged memory is written again', async () => {
  const path = program('agent');
  writeFileSync(join(userState, 'program-versions.json'), '{"half');
  expect([await recall(path), await recall(path)]).toEqual(['1.2.3', '1.2.3']);
  expect(asked).toBe(1);
  expect(readFileSync(join(userState, 'program-versions.json'), 'utf8')).toContain('1.2.3');
});
