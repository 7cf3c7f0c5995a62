/** A pack of the store that is cut or overwritten: what a person reads about it, and what to do. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
