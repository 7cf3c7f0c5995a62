import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createStamp, type Stamp } from '@caisson/ground';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { createPlan, writePlan } from './install-plan.ts';
import { captureProven, createScratchProject, STAMP, type ScratchProject } from './scratch-project-stage.ts';
import { idOfBlob } from './work-file.ts';

const FILES = 1000;
const ROUNDS = 5;
const FIXTURE = fileURLToPath(new URL('fixtures/apply-file.ts', import.meta.url));

let project: ScratchProject;
let elsewhere: string;
beforeEach(() => {
  project = createScratchProject();
  elsewhere = mkdtempSync('/dev/shm/caisson-apply-'); // another file system than the project's
});
afterEach(() => {
  project.dispose();
  rmSync(elsewhere, { recursive: true, force: true });
});

type Contents = ReadonlyMap<string, string | null>;

/** Every fifth file goes, every fifth is new, the others change; one file takes the place of a folder. */
function contents(): { before: Contents; after: Contents } {
  const before = new Map<string, string | null>([
    ['swap/inner', 'inner\n'],
    ['swap2', 'file\n'],
  ]);
  const after = new Map<string, string | null>([
    ['swap/inner', null],
    ['swap2', null],
  ]);
  for (let number = 0; number < FILES; number += 1) {
    const name = `d${number % 37}/f${number}.txt`;
    before.set(name, number % 5 === 0 ? null : `old ${number}\n`.repeat(20));
    after.set(name, number % 5 === 1 ? null : `new ${number}\n`.repeat(20));
  }
  return {
    before: new Map([...before, ['swap', null], ['swap2/inner', null]]),
    after: new Map([...after, ['swap', 'a file now\n'], ['swap2/inner', 'a folder now\n']]),
  };
}

function lay(root: string, wanted: Contents): void {
  for (const folder of ['swap', 'swap2']) rmSync(join(root, folder), { recursive: true, force: true });
  for (const [name, text] of wanted) if (text === null) rmSync(join(root, name), { force: true });
  for (const [name, text] of wanted) {
    if (text === null) continue;
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

/** Undefined when nothing is there, also below a file. */
function statOf(name: string): Stats | undefined {
  try {
    return lstatSync(join(project.root, name));
  } catch {
    return undefined;
  }
}

const look = (name: string): string | null => (statOf(name)?.isFile() === true ? project.read(name) : null);

const present = (like: Contents): Contents => new Map([...like.keys()].map((name) => [name, look(name)]));

/** Starts an apply and kills it once `isTime` says so; true when it was killed before its end. */
async function killAt(stateDir: string, patchFile: string, isTime: () => boolean): Promise<boolean> {
  const child = spawn(process.execPath, [FIXTURE, project.root, stateDir, project.home, patchFile], {
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  while (child.exitCode === null && !isTime()) await setTimeout(1);
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL';
}

/** A project as it was, and a patch that changes every path of it. */
async function makePatch() {
  const { before, after } = contents();
  lay(project.root, before);
  project.commit('before');
  const prepared = await project.prepare();
  lay(prepared.path, after);
  const patchFile = join(project.base, 'patch');
  writeFileSync(patchFile, (await captureProven(prepared)).patch);
  return { before, after, patchFile };
}

it(
  'whenever an apply is killed, every file is the old or the new one, and the next command undoes the whole',
  { timeout: 240_000 },
  async () => {
    const { before, after, patchFile } = await makePatch();
    const names = [...before.keys()];
    let undone = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const stateDir = round % 2 === 0 ? project.stateDir : elsewhere;
      const watched = names[Math.floor(Math.random() * names.length)] ?? '';
      const old = statOf(watched)?.ino;
      const isKilled = await killAt(stateDir, patchFile, () => statOf(watched)?.ino !== old);
      const left = present(before);
      const torn = names.filter((name) => ![before.get(name), after.get(name)].includes(left.get(name)));
      expect(torn, `killed when ${watched} changed`).toEqual([]);
      const hadPlan = readdirSync(join(stateDir, 'tmp')).some((name) =>
        existsSync(join(stateDir, 'tmp', name, 'plan.json')),
      );
      const reported = await project.workspaces.recoverApplies({ stateDir, projectRoot: project.root });
      expect(present(before)).toEqual(hadPlan ? before : after);
      expect(reported).toHaveLength(hadPlan ? 1 : 0);
      if (hadPlan) expect(reported[0]).toMatch(/interrupted apply was undone: 1004 paths/);
      expect(readdirSync(join(stateDir, 'tmp')).filter((name) => name.startsWith('apply-'))).toEqual([]);
      expect(readdirSync(join(project.root, 'd1')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
      if (hadPlan) undone += 1;
      expect(hadPlan && !isKilled).toBe(false);
      lay(project.root, before);
    }
    expect(undone).toBeGreaterThan(0);
    expect(project.git('status', '--porcelain')).toBe('');
    const applied = await killAt(project.stateDir, patchFile, () => false);
    expect(applied).toBe(false);
    expect(present(before)).toEqual(after);
  },
);

it(
  'leaves a file that was changed after the interruption, and says where its earlier content is',
  { timeout: 120_000 },
  async () => {
    const { before, after, patchFile } = await makePatch();
    const first = 'd2/f2.txt';
    await killAt(project.stateDir, patchFile, () => look(first) === after.get(first));
    project.write(first, 'by the user, afterwards\n');
    const notices: string[] = [];
    const result = await project.workspaces.apply({
      projectRoot: project.root,
      stateDir: project.stateDir,
      patch: readFileSync(patchFile),
      baseCommit: null,
      threeWay: true,
      onNotice: (message) => notices.push(message),
    });
    expect(result).toEqual({ kind: 'dirty', files: [first] });
    expect(look(first)).toBe('by the user, afterwards\n');
    expect(notices).toHaveLength(1);
    const place = /d2\/f2\.txt \(its earlier content: (.+)\)/.exec(notices[0] ?? '')?.[1] ?? '';
    expect(readFileSync(place, 'utf8')).toBe(before.get(first));
    expect(present(new Map([...before].filter(([name]) => name !== first)))).toEqual(
      new Map([...before].filter(([name]) => name !== first)),
    );
  },
);

it('touches nothing outside of the project, not even by a plan of ours', async () => {
  project.write('a', 'a');
  project.commit('first');
  const folder = join(project.stateDir, 'tmp/apply-x');
  mkdirSync(join(folder, 'kept'), { recursive: true });
  const outside = join(project.base, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, join(project.root, 'link'));
  const paths = ['../escaped', '.git/hooks/pre-commit', 'sub/.GIT/config', 'link/file', '/absolute', 'a'];
  const entries = paths.map((path, index) => {
    writeFileSync(join(folder, 'kept', `${index}`), 'kept');
    return { path, wasThere: true, after: idOfBlob(Buffer.from('a'), 'sha1') };
  });
  await writePlan(folder, createPlan(folder, project.root, entries), STAMP);
  const [reported] = await project.workspaces.recoverApplies({
    stateDir: project.stateDir,
    projectRoot: project.root,
  });
  expect(reported).toMatch(/undone: 1 path in .*; changed since and not touched: .*escaped.*pre-commit/);
  expect([look('a'), readdirSync(outside), existsSync(join(project.base, 'escaped'))]).toEqual([
    'kept',
    [],
    false,
  ]);
  expect(existsSync(join(project.root, '.git/hooks/pre-commit'))).toBe(false);
  expect(readdirSync(join(project.stateDir, 'trash/apply-x/kept'))).toEqual(['0', '1', '2', '3', '4']);
});

it('leaves a plan of another project, folder or writer alone', async () => {
  project.write('a', 'a');
  project.commit('first');
  const other = createStamp(Buffer.from('another secret'));
  const plant = async (name: string, root: string, stamp: Stamp, writtenAs = name): Promise<void> => {
    const [folder, made] = [name, writtenAs].map((part) => join(project.stateDir, 'tmp', part));
    mkdirSync(join(folder ?? '', 'kept'), { recursive: true });
    writeFileSync(join(folder ?? '', 'kept/0'), 'kept');
    mkdirSync(made ?? '', { recursive: true });
    const entries = [{ path: 'a', wasThere: true, after: idOfBlob(Buffer.from('a'), 'sha1') }];
    await writePlan(made ?? '', { ...createPlan(folder ?? '', root, entries), place: '../x' }, stamp);
    if (made !== folder) renameSync(join(made ?? '', 'plan.json'), join(folder ?? '', 'plan.json'));
  };
  await plant('apply-writer', project.root, other);
  await plant('apply-project', project.base, STAMP);
  await plant('apply-folder', project.root, STAMP, 'made');
  const reported = await project.workspaces.recoverApplies({
    stateDir: project.stateDir,
    projectRoot: project.root,
  });
  expect(reported.map((line) => line.includes('nothing was undone'))).toEqual([true, true, true]);
  expect(look('a')).toBe('a');
});
