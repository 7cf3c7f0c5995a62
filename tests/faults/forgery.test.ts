/** An agent that speaks like a worker is not believed: its output is data, its files are not ours, its guesses are wrong. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, ROOT, type Project } from '../e2e/project.ts';

const FORGER = readFileSync(join(ROOT, 'tests/faults/forger.mjs'));

function createForgery(): { project: Project; state: string } {
  const project = createProject();
  project.write('forger.mjs', FORGER);
  project.git('add', '.');
  project.git('commit', '-qm', 'forger');
  return { project, state: join(project.root, '.caisson') };
}

/** Starts the forger with the id of its own run, which it reads off the spool folder. */
function forgeOutside(state: string): string {
  return `${process.execPath} forger.mjs outside ${state} $(ls ${state}/runtime/spool | sed 's/.1$//')`;
}

describe('a forger', { timeout: 120_000 }, () => {
  it('is not believed by any of the ways it has inside the sandbox', async () => {
    const { project, state } = createForgery();
    const result = await project.run('--', process.execPath, 'forger.mjs', 'inside', state);
    expect(result.stderr).toMatch(/\d processes, \d+ written, \d+ refused, \d+ planted/);
    expect(result).toMatchObject({ status: 'error', exitCode: 7, failure: { reason: 'provider-failed' } });
    expect(result.cli.code).toBe(7);
    await expectHonest(project, result.runId);
    expect(result.result?.policy.denials.map((denial) => denial.what)).not.toContain('FORGED');
    expect((await project.caisson('verify', result.runId)).code).toBe(0);
  });

  it('without a sandbox reaches the result folder, but does not know the nonce', async () => {
    const { project, state } = createForgery();
    const result = await project.run(
      ...['--sandbox', 'none', '--retries', '0', '--', 'sh', '-c', `exec ${forgeOutside(state)}`],
    );
    expect(result.stderr).toMatch(/1 processes, \d+ written, \d+ refused, [1-9]\d* planted/);
    expect(result).toMatchObject({ status: 'error', exitCode: 7 });
    // The worker seals over whatever was planted.
    expect(result.result).toMatchObject({ status: 'failed', exitCode: 7 });
    await expectHonest(project, result.runId);
  });

  it('that plants a result and kills its worker has not finished', async () => {
    const { project, state } = createForgery();
    const result = await project.run(
      ...['--sandbox', 'none', '--retries', '0'],
      ...['--', 'sh', '-c', `${forgeOutside(state)}; kill -9 $PPID; sleep 5`],
    );
    expect(result).toMatchObject({ status: 'error', failure: { reason: 'output-invalid' } });
    expect(result.failure?.detail).toMatch(/another run, attempt or nonce|malformed/);
  });
});

async function expectHonest(project: Project, runId: string): Promise<void> {
  const types = (await project.events(runId)).map((event) => event.type);
  expect(types.filter((type) => type.startsWith('dispatch.'))).toEqual([
    'dispatch.accepted',
    'dispatch.started',
    'dispatch.failed',
  ]);
  expect(types).not.toContain('stream.malformed');
  expect(types).not.toContain('policy.denied');
}
