/** A pack of the store that is cut or overwritten: what a person reads about it, and what to do. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { listStoredBlobs } from '../../packages/engine/src/store/fixtures/stored-blobs.ts';
import { createProject, type Project } from '../e2e/project.ts';

/** The pack that has what an event of the run names. */
async function findPack(project: Project, runId: string, name: string): Promise<string> {
  const events = await project.events(runId);
  const digest = events.map((event) => event[name]).find((value) => typeof value === 'string');
  const stored = listStoredBlobs(join(project.root, '.caisson/store'));
  const found = stored.find((blob) => blob.digest === digest);
  expect(found?.isPacked).toBe(true);
  return found?.file ?? '';
}

const countIn = (text: string, part: string): number => text.split(part).length - 1;

const CUTS: [string, (file: string) => void][] = [
  ['cut short', (file) => truncateSync(file, 20)],
  ['overwritten', (file) => writeFileSync(file, Buffer.alloc(statSync(file).size, 'x'))],
];

it.each(CUTS)(
  'an envelope in a pack that is %s is no wrong signature, and the pack is named once',
  async (_title, damage) => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', 'echo changed > new.txt');
    const sound = await project.run('--', 'sh', '-c', 'echo other > other.txt');
    const file = await findPack(project, runId, 'envelopeRef');
    const good = readFileSync(file);
    damage(file);
    const one = await project.caisson('verify', runId);
    expect([one.code, one.stdout]).toEqual([6, expect.stringContaining('FAILED  envelope')]);
    expect(one.stdout).toContain('MISSING  signature  there is no envelope to read');
    const every = await project.caisson('verify', '--all');
    expect([every.code, every.stdout]).toEqual([
      6,
      expect.stringContaining('1 of 2 runs are correct; 1 tampered'),
    ]);
    const [first = '', remedy = '', ...rest] = every.stdout.trimEnd().split('\n');
    expect([first, countIn(first, file)]).toEqual([
      expect.stringContaining(`tampered  ${runId}  envelope`),
      1,
    ]);
    expect(remedy).toContain('caisson doctor --repair');
    expect(rest).toHaveLength(1);
    expect(every.stdout).not.toContain(sound.runId);
    writeFileSync(file, good);
    expect((await project.caisson('verify', '--all')).code).toBe(0);
  },
  60_000,
);

it('a patch that doctor --repair can make readable is read and applied after that, and show, diff and apply say so', async () => {
  const project = createProject();
  const { runId } = await project.run('--', 'sh', '-c', 'echo changed > new.txt');
  const file = await findPack(project, runId, 'patchRef');
  truncateSync(file, statSync(file).size - 40);
  const first = 'Try first: caisson doctor --repair, which makes the patch readable again.';
  const byHand = 'Get it, without the checks of caisson apply, with: git diff --binary';
  const shown = await project.caisson('show', runId);
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(`${first} ${byHand}`);
  for (const command of ['diff', 'apply']) {
    const { stderr } = await project.caisson(command, runId);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(`${first} ${byHand}`);
  }
  await project.caisson('doctor', '--repair');
  expect((await project.caisson('diff', runId)).stdout).toContain('+changed');
  expect((await project.caisson('apply', runId)).code).toBe(0);
  const again = await project.run('--', 'sh', '-c', 'echo again > again.txt');
  truncateSync(await findPack(project, again.runId, 'patchRef'), 60);
  const lost = await project.caisson('diff', again.runId);
  expect(lost.stderr.replaceAll(/\s+/g, ' ')).toContain(byHand);
  expect(lost.stderr, 'which would not help').not.toContain('Try first');
}, 60_000);

it('doctor has a line for each damaged pack, which names it once, and what of which run was in it', async () => {
  const project = createProject();
  const damaged: [string, string][] = [];
  for (const word of ['one', 'two']) {
    const { runId } = await project.run('--', 'sh', '-c', `echo ${word}`);
    damaged.push([runId, await findPack(project, runId, 'resultRef')]);
  }
  const [[one, alone] = ['', '']] = damaged;
  const good = readFileSync(alone);
  truncateSync(alone, 60);
  const single = (await project.caisson('doctor')).stdout.replaceAll(/\s+/g, ' ');
  expect(countIn(single, alone)).toBe(1);
  expect(single).toMatch(new RegExp(`${alone} is damaged: result[a-z/, ]* of ${one}`));
  writeFileSync(alone, good);
  for (const [, file] of damaged) truncateSync(file, 60);
  const { code, stdout } = await project.caisson('doctor');
  const text = stdout.replaceAll(/\s+/g, ' ');
  expect(code).toBe(6);
  expect(text).toMatch(/FAIL store tampered: \d+ blobs that are needed cannot be used /);
  for (const [runId, file] of damaged) {
    expect(countIn(text, file)).toBe(1);
    expect(text).toContain(`${file} is damaged`);
    expect(text).toMatch(new RegExp(`in one of these packs: result[a-z/, ]* of ${runId}`));
  }
}, 60_000);

it('gc through a daemon prints the same warnings as gc without one', async () => {
  const project = createProject();
  const { runId } = await project.run('--', 'sh', '-c', 'echo changed > new.txt');
  truncateSync(await findPack(project, runId, 'resultRef'), 60);
  const alone = await project.caisson('gc', '--no-daemon');
  expect(alone.stderr).toContain('blobs cannot be used');
  const { stdout } = await project.caisson('up', '-d', '-o', 'json');
  const { pid } = JSON.parse(stdout) as { pid: number };
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
  const through = await project.caisson('gc');
  expect([through.code, through.stderr]).toEqual([0, alone.stderr]);
}, 60_000);
