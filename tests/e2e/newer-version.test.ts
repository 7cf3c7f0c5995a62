/** A state folder that a newer version has written into: what this version cannot read it says, and invents nothing. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLocalStore } from '../../packages/engine/src/store/index.ts';
import { forgeLedger } from './forge-ledger.ts';
import { createProject, type Project } from './project.ts';

/** Writes the results of the runs again, each as `change` has it. */
async function rewriteResults(project: Project, changes: Record<string, object>): Promise<void> {
  const stateDir = join(project.root, '.caisson');
  const store = openLocalStore(join(stateDir, 'store'));
  const refs = new Map<string, string>();
  for (const [runId, change] of Object.entries(changes)) {
    const { stdout } = await project.caisson('show', runId, '-o', 'json');
    const { result } = JSON.parse(stdout) as { result: object };
    const { digest } = await store.putBlob(Buffer.from(JSON.stringify({ ...result, ...change })));
    refs.set(runId, digest);
  }
  await forgeLedger(stateDir, (events) => {
    for (const { runId, type, data } of events) {
      const ref = refs.get(runId ?? '');
      if (type === 'dispatch.finished' && ref !== undefined) data['resultRef'] = ref;
      if (type === 'dispatch.failed') data['failure'] = { why: 'of a newer shape' };
    }
    return events.filter(({ type }) => type !== 'evidence.sealed');
  });
}

it('runs of a newer version are shown as far as they can be read', { timeout: 60_000 }, async () => {
  const project = createProject();
  const kind = (await project.run('--', 'sh', '-c', 'echo hello; echo x > new.txt')).runId;
  const shape = (await project.run('--', 'echo', 'hello')).runId;
  const failed = (await project.run('--', 'false')).runId;
  const blocks = [{ kind: 'note', ordinal: 0, status: 'ok', durationMs: 1 }];
  await rewriteResults(project, { [kind]: { blocks }, [shape]: { schemaVersion: 2 } });

  expect((await project.caisson('show', kind)).stdout).toContain('hello');
  expect((await project.caisson('logs', kind, '--stdout')).stdout).toBe('hello\n');
  expect((await project.caisson('diff', kind)).stdout).toContain('new.txt');
  expect((await project.caisson('retry', kind)).code).toBe(0);

  const newer = `a newer version wrote the result of ${shape}: "schemaVersion" cannot be read`;
  const shown = await project.caisson('show', shape);
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining(newer)]);
  const retried = await project.caisson('retry', shape);
  expect(retried.stderr).toContain(newer);
  expect(retried.stderr).not.toContain('internal');

  const { stdout } = await project.caisson('show', failed);
  expect(stdout).toMatch(/^failed +run_\w+ {2}-\n/);
  expect(stdout).toContain(`A newer version wrote dispatch.failed.`);
  expect(stdout).toContain('dispatch.failed (a newer version wrote it)');
  expect(stdout).not.toContain(' 0 ms');
  expect((await project.caisson('logs', failed)).stdout).toMatch(/dispatch.failed +a newer version wrote it/);
});

it('a configuration of a newer version blocks work, and no reading', { timeout: 60_000 }, async () => {
  const project = createProject({ config: 'state: kept\n' });
  const { runId } = await project.run('--', 'echo', 'hello');
  const newer = 'future: { colour: red }\nlimits: { naps: 3, timeout: soon }\n';
  project.write('caisson.yaml', `state: kept\n${newer}`);
  for (const argv of [['runs'], ['show', runId]]) {
    const { code, stdout, stderr } = await project.caisson(...argv);
    expect([code, stdout]).toEqual([0, expect.stringContaining(runId)]);
    for (const left of ['unknown key "future"', 'unknown key "naps" in limits', 'limits.timeout: '])
      expect(stderr).toMatch(new RegExp(`warning: left out here: .*${left}`));
  }
  for (const argv of [['run', '--', 'true'], ['gc']]) {
    const { code, stderr } = await project.caisson(...argv);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/error: .*unknown key "future"/)]);
  }
  project.write('caisson.yaml', `state: [kept]\n${newer}`);
  expect(await project.caisson('runs')).toMatchObject({ code: 2, stdout: '' }); // never of another folder
});

it('a host without a request says who starts one', async () => {
  const project = createProject();
  for (const argv of [['host'], ['host', 'run_00000000000000000001']]) {
    const { code, stderr } = await project.caisson(...argv);
    expect([argv, code, stderr]).toEqual([argv, 2, expect.stringContaining('caisson run --detach "…"')]);
  }
});
