/** What runs take on the disk, and that what is said to free it does. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createProject, finish, type Project } from './project.ts';

interface Report {
  readonly freedBytes: number;
  readonly forgotten: readonly string[];
  readonly unapplied: readonly string[];
  readonly deleted: readonly { readonly path: string; readonly bytes: number; readonly why: string }[];
}

const stateOf = (project: Project): string => join(project.root, '.caisson');
const trashOf = (project: Project): string[] =>
  existsSync(join(stateOf(project), 'trash')) ? readdirSync(join(stateOf(project), 'trash')) : [];
/** As `du` counts it. */
const diskOf = (folder: string): number =>
  Number(execFileSync('du', ['-s', '-B1', folder], { encoding: 'utf8' }).split('\t')[0]);
const refsOf = (project: Project): string[] =>
  project.git('for-each-ref', '--format=%(refname)', 'refs/caisson').split('\n').filter(Boolean);

async function collect(project: Project, ...args: string[]): Promise<Report> {
  const { code, stdout, stderr } = await project.caisson('gc', ...args, '-o', 'json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Report;
}

/** A project that ignores `build`, and a run that leaves a file of random bytes there, and one that it ignores not. */
function createBuilding(env: Record<string, string> = {}): Project {
  const project = createProject({ env });
  project.write('.gitignore', 'build\n.caisson\n');
  project.git('add', '.');
  project.git('commit', '-qm', 'ignore');
  return project;
}
const build = (bytes: number, more = 'true'): string[] => [
  ...['--', 'sh', '-c', `mkdir build; head -c ${bytes} /dev/urandom >build/made; ${more}`],
];

describe('disk space', { timeout: 120_000 }, () => {
  it('a run that changed nothing leaves neither files nor refs, in a large project with uncommitted files', async () => {
    const project = createBuilding();
    for (let file = 0; file < 400; file += 1) project.write(`many/${file}`, `${file}\n`);
    project.git('add', '.');
    project.git('commit', '-qm', 'many');
    await project.run('--', 'true'); // makes what a project has once
    const count = (): number => readdirSync(stateOf(project), { recursive: true }).length;
    const before = count();
    await project.run('--', 'true');
    expect([trashOf(project), refsOf(project)]).toEqual([[], []]);
    expect(count() - before).toBeLessThan(16);
    project.write('mine', 'uncommitted');
    const { runId } = await project.run('--', 'true');
    expect([trashOf(project), refsOf(project)]).toEqual([[], [`refs/caisson/${runId}/base/1`]]);
    expect(project.git('log', '--all', '--format=%s')).not.toContain('caisson');
  });

  it('gc frees what it says, forgets what the user has, and keeps what only the run has until it is asked twice', async () => {
    const project = createBuilding();
    const applied = await project.run(...build(2_000_000, 'echo one >one'));
    const unapplied = await project.run(...build(1_000_000, 'head -c 500000 /dev/urandom >two'));
    const nothing = await project.run('--', 'sh', '-c', 'head -c 300000 /dev/urandom | base64');
    const branched = await project.run('--branch', 'kept', '--', 'sh', '-c', 'echo three >three');
    expect((await project.caisson('apply', applied.runId)).code).toBe(0);
    expect(trashOf(project)).toEqual([`${applied.runId}.1`, `${unapplied.runId}.1`]);
    expect(refsOf(project)).toEqual(
      [applied, unapplied, branched].flatMap(({ runId }) => [
        `refs/caisson/${runId}/1`,
        `refs/caisson/${runId}/base/1`,
      ]),
    );
    expect(project.git('log', 'main', '--format=%s')).not.toContain('caisson');

    const before = diskOf(stateOf(project));
    const report = await collect(project, '--all', '--older-than', '0s');
    const freed = before - diskOf(stateOf(project));
    expect(report.freedBytes).toBeGreaterThan(3_000_000);
    expect(Math.abs(report.freedBytes - freed)).toBeLessThan(100_000);
    expect(new Set(report.forgotten)).toEqual(
      new Set([applied, nothing, branched].map(({ runId }) => runId)),
    );
    expect(report.unapplied).toEqual([unapplied.runId]);
    expect(report.deleted.map(({ why }) => why)).toEqual(['age', 'age']);
    expect(refsOf(project).filter((ref) => !ref.includes(unapplied.runId))).toEqual([]);
    expect((await project.caisson('diff', unapplied.runId, '--stat')).stdout).toContain('two');
    expect(project.git('show', 'kept:three')).toBe('three\n');

    const shown = await project.caisson('logs', unapplied.runId);
    expect(shown.stdout).toMatch(/trash\.deleted.*\(age\)/);
    const said = await project.caisson('gc', '--all', '--older-than', '0s');
    expect(said.stdout).toContain(
      `kept ${unapplied.runId}: you do not have its work: caisson apply ${unapplied.runId}\n`,
    );
    const last = await collect(project, '--all', '--held-back', '--older-than', '0s');
    expect([last.forgotten, last.unapplied, refsOf(project)]).toEqual([[unapplied.runId], [], []]);
    expect((await project.caisson('verify', unapplied.runId)).stderr).toContain('was forgotten');
    // As a forget that was killed half-way leaves it.
    project.git('update-ref', `refs/caisson/${unapplied.runId}/1`, 'HEAD^{tree}');
    await collect(project);
    expect(refsOf(project)).toEqual([]);
    expect((await project.caisson('doctor', '-o', 'json')).stdout).toContain('0 refs under refs/caisson');
  });

  it('the trash stays within its size and age, the oldest go first, and each is recorded', async () => {
    const project = createBuilding({ CAISSON_LIMITS_TRASH: '1m', CAISSON_LIMITS_TRASH_AGE: '1h' });
    const first = await project.run(...build(700_000));
    const second = await project.run(...build(700_000));
    expect(trashOf(project)).toEqual([`${second.runId}.1`]);
    const deleted = async (runId: string): Promise<unknown[]> =>
      (await project.events(runId))
        .filter(({ type }) => type === 'trash.deleted')
        .map((event) => event['why']);
    expect([await deleted(first.runId), await deleted(second.runId)]).toEqual([['size'], []]);
    expect((await project.caisson('verify', first.runId)).code).toBe(0);
    // It is measured once, when it comes there: a short run does not pay for many files.
    project.write(`.caisson/trash/${second.runId}.1/trashed-bytes`, '5000000\n');
    await project.run('--', 'true');
    expect([await deleted(second.runId), trashOf(project)]).toEqual([['size'], []]);
    const config = (await project.caisson('config')).stdout;
    expect(config).toMatch(/limits\.trash\s.*1m/);
    expect(config).toMatch(/limits\.trashAge\s.*1h/);
  });

  it('two at once report each folder once, and one that was killed half-way is finished by the next', async () => {
    const project = createBuilding();
    const runs = [await project.run(...build(300_000)), await project.run(...build(300_000))];
    const reports = await Promise.all([1, 2].map(() => collect(project, '--older-than', '0s')));
    const paths = reports.flatMap(({ deleted }) => deleted.map(({ path }) => path));
    expect(paths.toSorted()).toEqual(runs.map(({ runId }) => join(stateOf(project), 'trash', `${runId}.1`)));

    const third = await project.run(...build(300_000));
    const folder = join(stateOf(project), 'trash', `${third.runId}.1`);
    rmSync(join(folder, 'saved-tree'));
    renameSync(folder, `${folder}.size.${process.pid}-1.deleted`); // its id belongs to another process now
    expect((await collect(project)).deleted).toMatchObject([{ path: folder, why: 'size' }]);
    expect(trashOf(project)).toEqual([]);
    const events = await project.events(third.runId);
    expect(events.filter(({ type }) => type === 'trash.deleted')).toHaveLength(1);
  });

  it('killed again and again beside runs that begin, it loses no work, and the next one finishes', async () => {
    const project = createBuilding();
    const runs = [await project.run(...build(300_000, 'echo first >work'))];
    for (const name of ['one', 'two']) {
      await project.run('--branch', name, '--', 'sh', '-c', `echo ${name} >${name}`);
      const { runId } = await project.run('--', 'sh', '-c', `echo ${name} >applied-${name}`);
      expect((await project.caisson('apply', runId)).code).toBe(0);
    }
    const isOver = new AbortController();
    const killing = (async (): Promise<void> => {
      for (let afterMs = 100; !isOver.signal.aborted; afterMs = afterMs === 400 ? 100 : afterMs + 60) {
        const child = project.start('gc', '--all', '--older-than', '0s');
        const ended = finish(child);
        await Promise.race([ended, delay(afterMs)]);
        child.kill('SIGKILL');
        await ended;
      }
    })();
    for (const text of ['second', 'third'])
      runs.push(await project.run(...build(300_000, `echo ${text} >work`)));
    isOver.abort();
    await killing;
    const report = await collect(project, '--all', '--older-than', '0s');
    expect([report.unapplied.toSorted(), trashOf(project)]).toEqual([runs.map(({ runId }) => runId), []]);
    expect(new Set(refsOf(project).map((ref) => ref.split('/')[2]))).toEqual(
      new Set(runs.map(({ runId }) => runId)),
    );
    for (const name of ['one', 'two']) expect(project.git('show', `${name}:${name}`)).toBe(`${name}\n`);
    for (const [at, { runId }] of runs.entries()) {
      expect((await project.caisson('diff', runId)).stdout).toContain(`+${['first', 'second', 'third'][at]}`);
      expect((await project.caisson('verify', runId)).code).toBe(0);
    }
    expect((await project.caisson('doctor', '-o', 'json')).code).toBe(0);
  });

  it('du names every part with the command that frees it, and what refs keep in the repository', async () => {
    const project = createBuilding();
    await project.run(...build(400_000, 'head -c 200000 /dev/urandom >work'));
    const { stdout } = await project.caisson('du', '-o', 'json');
    const usage = JSON.parse(stdout) as {
      bytes: number;
      parts: { name: string; bytes: number; frees: string | null }[];
      refs: { refs: number; bytes: number; frees: string };
    };
    expect(Math.abs(usage.bytes - diskOf(stateOf(project)))).toBeLessThan(50_000);
    expect(usage.parts.find(({ name }) => name === 'trash')).toMatchObject({
      frees: 'caisson gc --older-than 0s',
      bytes: expect.toSatisfy((bytes: number) => bytes >= 400_000) as number,
    });
    expect(usage.refs).toMatchObject({ refs: 2, frees: expect.stringContaining('git gc') as string });
    expect(usage.refs.bytes).toBeGreaterThan(200_000);
    const shown = (await project.caisson('du')).stdout;
    for (const word of ['trash', 'refs/caisson', 'store', 'caisson gc --older-than 0s'])
      expect(shown).toContain(word);
  });
});
