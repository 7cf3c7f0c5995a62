/** What `gc --all` may forget: never the only copy of work, wherever it is. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createProject, finish, type Project } from './project.ts';

interface Report {
  readonly forgotten: readonly string[];
  readonly unapplied: readonly string[];
}

const ALL = ['gc', '--all', '--older-than', '0s'];
const FIRST = '1\n2\n3\n4\n5\n6\n7\n8\n9\n';

async function collect(project: Project): Promise<Report & { stderr: string }> {
  const { code, stdout, stderr } = await project.caisson(...ALL, '-o', 'json');
  expect(code, stderr).toBe(0);
  return { ...(JSON.parse(stdout) as Report), stderr };
}

function refsOf(project: Project, runId: string): string {
  return project.git('for-each-ref', `refs/caisson/${runId}`);
}

it('a run whose files are still in its workspace is not forgotten, and they are held back later', async () => {
  const project = createProject({ env: { CAISSON_LIMITS_CAPTURE_FILE: '1m' } });
  const program = 'head -c 3000000 /dev/zero >big.bin; until [ -e go ]; do sleep 0.05; done; rm go';
  const ended = finish(project.start('run', '--sandbox', 'none', '-o', 'json', '--', 'sh', '-c', program));
  const worktrees = join(project.root, '.caisson/worktrees');
  const name = await vi.waitFor(() => readdirSync(worktrees)[0] ?? expect.fail('no workspace'), 20_000);
  const files = join(worktrees, name, 'files');
  await vi.waitFor(() => expect(statSync(join(files, 'big.bin')).size).toBe(3_000_000), 20_000);
  const looking = spawn('sleep', ['600'], { cwd: files });
  onTestFinished(() => void looking.kill('SIGKILL'));
  writeFileSync(join(files, 'go'), '');
  const { runId } = JSON.parse((await ended).stdout) as { runId: string };
  expect(existsSync(files)).toBe(true);
  expect(await collect(project)).toMatchObject({ forgotten: [], unapplied: [runId] });
  const gone = new Promise((resolve) => looking.once('exit', resolve));
  looking.kill('SIGKILL');
  await gone;
  await collect(project);
  expect(statSync(join(project.root, '.caisson/held-back', `${runId}.1/big.bin`)).size).toBe(3_000_000);

  // Both that leave the state folder now are recorded: the ignored files of the run, and the only copy.
  mkdirSync(join(project.root, '.caisson/trash', `${runId}.1/files`), { recursive: true });
  project.write(`.caisson/trash/${runId}.1/trashed`, 'saved\n');
  await project.caisson('gc', '--held-back', '--older-than', '0s');
  const deleted = (await project.events(runId)).filter(({ type }) => type === 'trash.deleted');
  expect(deleted.map((event) => [dirname(String(event['path'])).split('/').at(-1), event['why']])).toEqual([
    ['trash', 'age'],
    ['held-back', 'asked'],
  ]);
}, 60_000);

it('a branch counts while it has the work, and a left lock or a refusal of git stops nothing', async () => {
  const project = createProject();
  const branched = await project.run('--branch', 'work', '--', 'sh', '-c', 'echo work >work');
  const applied = await project.run('--', 'sh', '-c', 'echo mine >mine');
  expect((await project.caisson('apply', applied.runId)).code).toBe(0);
  project.git('branch', '-qD', 'work');
  project.git('pack-refs', '--all');
  project.write('.git/packed-refs.lock', '');
  const refused = await collect(project);
  expect(refused).toMatchObject({ forgotten: [], unapplied: [branched.runId] });
  expect(refused.stderr).toContain(`not all of ${applied.runId} could be deleted`);
  expect(refsOf(project, applied.runId)).not.toBe('');

  rmSync(join(project.root, '.git/packed-refs.lock'));
  project.write(`.git/refs/caisson/${applied.runId}/1.lock`, '');
  expect(await collect(project)).toMatchObject({ forgotten: [], unapplied: [branched.runId] });
  expect(refsOf(project, applied.runId)).toBe('');
  expect((await project.caisson('diff', branched.runId)).stdout).toContain('+work');
}, 60_000);

it('after the user dropped the commit that a run began with, its work is merged, and fetched from its bundle', async () => {
  const project = createProject();
  project.write('list', FIRST);
  project.git('add', '.');
  project.git('commit', '-qm', 'list');
  const program =
    'sed -i s/8/eight/ list; mkdir -p .github/workflows; echo on: push >.github/workflows/ci.yml';
  const risky = await project.run('--branch', 'work', '--', 'sh', '-c', program);
  const plain = await project.run('--', 'sh', '-c', 'sed -i s/9/nine/ list');
  project.write('list', FIRST.replace('6', 'six'));
  project.git('commit', '-qa', '--amend', '-m', 'another');
  project.git('reflog', 'expire', '--expire=now', '--all');
  project.git('gc', '-q', '--prune=now');
  expect((await project.caisson('apply', plain.runId)).stderr).toBe('');
  expect(project.git('diff')).toContain('+nine');
  const bundle = join(project.root, '.caisson/held-back', `${risky.runId}.1.bundle`);
  for (const ref of [`refs/caisson/${risky.runId}/1`, 'refs/heads/work']) {
    project.git('fetch', '-q', bundle, ref);
    expect(project.git('show', 'FETCH_HEAD:list')).toContain('eight');
    expect(project.git('show', 'FETCH_HEAD:.github/workflows/ci.yml')).toBe('on: push\n');
  }
}, 60_000);

it('what a rule left out of an applied patch stays, and so do uncommitted files that a run in place replaced', async () => {
  const config = 'policy: { rules: [{ path: "*.pem", action: no-access, reason: keys }] }\n';
  const project = createProject({ config });
  const inPlace = ['--workspace', 'in-place', '--', 'sh', '-c'];
  const clean = await project.run(...inPlace, 'echo more >>README.md');
  project.git('commit', '-qam', 'more');
  const ruled = await project.run('--', 'sh', '-c', 'echo x >new.pem; echo x >fine');
  expect((await project.caisson('apply', ruled.runId)).code).toBe(0);
  const replaced = await project.run(...inPlace, 'echo replaced >fine');
  const report = await collect(project);
  expect([report.forgotten, report.unapplied.toSorted()]).toEqual([
    [clean.runId],
    [ruled.runId, replaced.runId],
  ]);
}, 60_000);

it('each run that is kept has a line with the reason and the way out', { timeout: 120_000 }, async () => {
  const model = await startModelServer({
    script: ['first', 'second'].map((text) => ({
      when: text,
      turns: [{ tool: { intent: 'run-command' as const, command: `echo x > ${text}` } }, { say: text }],
    })),
  });
  onTestFinished(() => model.stop());
  const native = `native: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: scripted }`;
  const config = `runtime: native\nruntimes:\n  ${native}\n`;
  const project = createProject({ env: { MODEL_KEY: 'scripted-key' }, config });
  const first = await project.run('do the first');
  const said = await project.caisson('continue', first.runId, 'do the second', '-o', 'json');
  const second = JSON.parse(said.stdout) as { runId: string };
  expect((await project.caisson('apply', second.runId)).code).toBe(0);
  const outputs = await project.run('--', 'sh', '-c', 'mkdir -p outputs; echo o > outputs/o; echo n > n');
  expect((await project.caisson('apply', outputs.runId)).code).toBe(0);
  expect((await project.caisson('outputs', outputs.runId, '--to', 'taken')).code).toBe(0);
  const asks = `echo '{"question":"which?"}' > .caisson/needs_input.json`;
  const asked = await project.run('--', 'sh', '-c', asks);

  const { stdout } = await project.caisson(...ALL);
  expect(stdout.split('\n').filter((line) => line.startsWith('kept '))).toEqual([
    `kept ${first.runId}: you applied ${second.runId}, which continued it; if that has all you want: caisson forget ${first.runId}`,
    `kept ${outputs.runId}: it has outputs; caisson outputs ${outputs.runId} --to FOLDER copies them, then caisson forget ${outputs.runId}`,
    `kept ${asked.runId}: its question is open: caisson answer ${asked.runId} "…"`,
  ]);
  expect(stdout).toContain(`forgot 1 run: ${second.runId}`);
});
