/** What a daemon does by itself. Nothing here calls a command that would do it: the ledger is read directly. */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DaemonStatus } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, makeState, pidsWith, until, type Project } from './project.ts';

async function serve(project: Project): Promise<void> {
  const { stdout, stderr } = await project.caisson('up', '-d', '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  const { pid } = JSON.parse(stdout) as DaemonStatus;
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
}

function read({ root }: Project): Ledger {
  const ledger = openLedger(join(root, '.caisson/ledger.db'));
  onTestFinished(() => ledger.close());
  return ledger;
}

describe('a daemon', { timeout: 90_000 }, () => {
  it('expires a question whose deadline has passed', async () => {
    const project = createProject({ config: 'questions: { deadline: 1s }\n' });
    await serve(project);
    const asking = `printf '{"question":"Which?"}' > .caisson/needs_input.json`;
    const { runId } = await project.run('--', 'sh', '-c', asking);
    const ledger = read(project);
    expect(ledger.questions({ runId })).toMatchObject([{ text: 'Which?' }]);
    await until('it has expired', () => ledger.questions({ runId })[0]?.status === 'expired', 30_000);
  });

  it('settles the run of a host that died', async () => {
    const project = createProject();
    await serve(project);
    const mark = `sleep 3${process.hrtime.bigint()}`;
    const line = ['--no-daemon', '--detach', '--', 'sh', '-c', mark];
    const runId = (await project.caisson('run', ...line)).stdout.trim();
    await until('it runs', () => pidsWith(mark).length > 0);
    const [host = 0] = pidsWith(`host ${runId}`);
    process.kill(host, 'SIGKILL');
    const ledger = read(project);
    await until('it has ended', () => ledger.run(runId)?.ending !== undefined, 30_000);
    expect(ledger.run(runId)).toMatchObject({ status: 'interrupted', failure: { reason: 'lost' } });
    expect(pidsWith(mark)).toEqual([]);
  });

  it('cleans up when it starts, without a run', async () => {
    const project = createProject();
    const hosts = join(makeState(project), 'runtime/hosts');
    mkdirSync(hosts, { recursive: true });
    const left = join(hosts, 'host_00000000000000000001.sock');
    writeFileSync(left, '');
    utimesSync(left, 0, 0);
    await serve(project);
    await until('it is removed', () => !existsSync(left), 30_000);
  });
});
