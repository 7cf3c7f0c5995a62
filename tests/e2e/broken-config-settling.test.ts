/**
 * What settles a run while the configuration cannot be read, or after it has changed: the run's own rules count, and
 * nothing is signed with a key that was not chosen.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killDaemon, serve, show } from '../faults/killed-daemons.ts';
import { createProject, pidsWith, until, type Project } from './project.ts';
import { keyFile, startSigningAgent, type SigningAgent } from './signing-agent.ts';

const LIMIT_MS = 120_000;
const RULES = `policy: { rules: [{ path: 'deploy/**', action: read-only, reason: no }] }\n`;
const USER_FILE = '../home/.config/caisson/config.yaml';

interface Left {
  readonly project: Project;
  readonly runId: string;
  readonly witness: string;
  readonly agent: SigningAgent;
}

/** A run that made two files, one of them against a rule; its daemon is killed. `file` is where the settings are. */
async function leaveRun(file: string): Promise<Left> {
  const agent = await startSigningAgent();
  agent.add('mine');
  const project = createProject();
  const witness = join(dirname(project.root), 'witness');
  project.write(
    file,
    `keys: { signer: 'ssh-agent:${agent.socket}' }\nevidence: { witness: ${witness} }\n${RULES}`,
  );
  const daemon = await serve(project);
  const line = 'mkdir deploy; echo evil > deploy/x.sh; echo fine > fine.txt; echo up; sleep 600';
  const { stdout } = await project.caisson('run', '--detach', '--', 'sh', '-c', line);
  const runId = stdout.trim();
  const isUp = async (): Promise<boolean> =>
    (await project.caisson('logs', runId, '--stdout')).stdout.startsWith('up\n');
  await until('the agent works', isUp, 60_000);
  await killDaemon(daemon);
  return { project, runId, witness, agent };
}

async function killWorker({ project, runId }: Left): Promise<void> {
  const launched = (await project.events(runId)).find(({ type }) => type === 'attempt.launched');
  if (launched === undefined) throw new Error('it has no worker');
  const { pid } = launched['handle'] as { pid: number };
  process.kill(pid, 'SIGKILL');
  await until('its processes are gone', () => pidsWith(runId).length === 0);
}

const filesOf = async ({ project, runId }: Left): Promise<string[]> =>
  [...(await project.caisson('diff', runId)).stdout.matchAll(/^diff --git a\/(\S+)/gm)].map(
    ([, name = '']) => name,
  );

const isSealed = async ({ project, runId }: Left): Promise<boolean> =>
  (await project.events(runId)).some(({ type }) => type === 'evidence.sealed');

function expectUnsigned({ project, witness }: Left): void {
  expect([existsSync(keyFile(project)), existsSync(witness)]).toEqual([false, false]);
}

/** The next process with a sound configuration seals it as that asks. */
async function expectSealedAsChosen(left: Left): Promise<void> {
  const { project, runId, witness } = left;
  const { repaired } = JSON.parse((await project.caisson('doctor', '--repair', '-o', 'json')).stdout) as {
    repaired: { id: string; detail: string }[];
  };
  expect(repaired.map(({ detail }) => detail)).toContain(`${runId} was sealed`);
  expect([existsSync(keyFile(project)), readFileSync(witness, 'utf8')]).toEqual([
    false,
    expect.stringContaining(runId),
  ]);
  const verified = await project.caisson('verify', runId);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('verified')]);
}

describe('with a configuration that is not valid', { timeout: LIMIT_MS }, () => {
  it.each([
    ['caisson.yaml is not valid', 'caisson.yaml'],
    ["the user's file is half saved", USER_FILE],
  ])('doctor --repair settles and seals nothing while %s', async (_why, broken) => {
    const left = await leaveRun(USER_FILE);
    const { project, runId } = left;
    await killWorker(left);
    const sound = existsSync(join(project.root, broken)) ? readFileSync(join(project.root, broken)) : null;
    project.write(broken, 'x: [\n');
    const { code, stdout } = await project.caisson('doctor', '--repair', '-o', 'json');
    const { repaired } = JSON.parse(stdout) as { repaired: { id: string }[] };
    expect([code, repaired]).toEqual([
      1,
      [
        {
          id: 'project',
          verdict: 'fail',
          detail: expect.stringContaining(
            'runs, seals, lost blobs and worktrees were left as they are',
          ) as string,
        },
      ],
    ]);
    expect((await show(project, runId)).status).toBe('running');
    expectUnsigned(left);

    if (sound === null) rmSync(join(project.root, broken));
    else project.write(broken, sound);
    await project.caisson('doctor', '--repair');
    expect(await filesOf(left)).toEqual(['fine.txt']);
    expect(await isSealed(left)).toBe(true);
    expect([existsSync(keyFile(project)), readFileSync(left.witness, 'utf8')]).toEqual([
      false,
      expect.stringContaining(runId),
    ]);
  });

  it.each(['caisson.yaml', USER_FILE])(
    'cancel judges by the rules of the run in %s, and signs nothing',
    async (file) => {
      const left = await leaveRun(file);
      const { project, runId } = left;
      const sound = readFileSync(join(project.root, file));
      project.write(file, `${sound.toString()}x: [\n`);
      const { code } = await project.caisson('cancel', runId, '--no-daemon');
      expect([code, (await show(project, runId)).status, await filesOf(left)]).toEqual([
        0,
        'cancelled',
        ['fine.txt'],
      ]);
      const warnings = (await project.events(runId)).filter(({ type }) => type === 'warning');
      expect(warnings.map(({ message }) => message)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^deploy\/x\.sh .* was left out of the patch$/) as string,
          expect.stringMatching(new RegExp(`^${runId} is not sealed: .*not valid YAML`)) as string,
        ]),
      );
      expectUnsigned(left);
      project.write(file, sound);
      await expectSealedAsChosen(left);
    },
  );
});

it('the rules of the run count, not those of who settles it', { timeout: LIMIT_MS }, async () => {
  const left = await leaveRun(USER_FILE);
  const { project, runId } = left;
  project.write(USER_FILE, readFileSync(join(project.root, USER_FILE), 'utf8').replace('deploy', 'other'));
  expect((await project.caisson('cancel', runId, '--no-daemon')).code).toBe(0);
  expect(await filesOf(left)).toEqual(['fine.txt']);
});

it(
  'doctor says that the state folder is not known, and repairs no other',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject({ config: 'state: kept\n' });
    await project.run('--', 'true');
    project.write('caisson.yaml', 'state: kept\nx: [\n');
    for (const words of [['doctor'], ['doctor', '--repair']]) {
      const { code, stdout } = await project.caisson(...words, '-o', 'json');
      const { repaired, probes } = JSON.parse(stdout) as {
        repaired: unknown[];
        probes: { id: string; verdict: string; detail: string; remedy?: string }[];
      };
      expect([code, repaired]).toEqual([1, []]);
      expect(probes.filter(({ id }) => ['state-folder', 'ledger'].includes(id))).toEqual([
        {
          id: 'state-folder',
          verdict: 'fail',
          detail: 'the state folder is not known while the configuration cannot be read',
          remedy: expect.stringContaining('--state-dir') as string,
        },
      ]);
    }
    const named = await project.caisson('doctor', '--state-dir', 'kept', '-o', 'json');
    const { probes } = JSON.parse(named.stdout) as { probes: { id: string; detail: string }[] };
    expect(probes.find(({ id }) => id === 'ledger')?.detail).not.toContain('there is none yet');
  },
);

it(
  'a project that asks for another key has none step in for it before its user agrees',
  { timeout: LIMIT_MS },
  async () => {
    const agent = await startSigningAgent();
    agent.add('mine');
    const project = createProject({ trusts: false });
    const daemon = await serve(project);
    const { stdout } = await project.caisson('run', '--detach', '--', 'sleep', '600');
    const runId = stdout.trim();
    await until('it runs', async () => (await show(project, runId)).status === 'running', 60_000);
    await killDaemon(daemon);
    rmSync(keyFile(project), { force: true });
    project.write('caisson.yaml', `keys: { signer: 'ssh-agent:${agent.socket}' }\n`);
    expect((await project.caisson('cancel', runId, '--no-daemon')).code).toBe(0);
    expect([(await show(project, runId)).status, existsSync(keyFile(project))]).toEqual(['cancelled', false]);

    await project.trust();
    await project.caisson('doctor', '--repair');
    const verified = await project.caisson('verify', runId);
    expect([verified.code, existsSync(keyFile(project))]).toEqual([0, false]);
  },
);
