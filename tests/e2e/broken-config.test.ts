/** A `caisson.yaml` that is not valid, half saved for example: reading, steering and stopping go on, and nothing starts. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killDaemon, serve, show, untilStatus } from '../faults/killed-daemons.ts';
import { connectMcp } from './mcp-client.ts';
import { createProject, pidsWith, until, type Project } from './project.ts';
import {
  readJson,
  serveResidents,
  startThread,
  untilEnded,
  untilThreadIs,
  workflowOf,
} from './resident-project.ts';
import { openVisit } from './visit.ts';

const LIMIT_MS = 120_000;

async function startAgent(project: Project): Promise<{ runId: string; mark: string }> {
  const mark = `mark-${process.hrtime.bigint()}`;
  const line = `: ${mark}; echo up; sleep 600`;
  const { stdout } = await project.caisson('run', '--detach', '--', 'sh', '-c', line);
  const runId = stdout.trim();
  const isUp = async (): Promise<boolean> =>
    (await project.caisson('logs', runId, '--stdout')).stdout.startsWith('up\n');
  await until('the agent works', isUp, 60_000);
  return { runId, mark };
}

function breakConfig(project: Project): string {
  appendFileSync(join(project.root, 'caisson.yaml'), 'x: [\n');
  return `${join(project.root, 'caisson.yaml')}:3:1: not valid YAML`;
}

describe('with a caisson.yaml that is not valid', { timeout: LIMIT_MS }, () => {
  it('a served run is read, cancelled and its daemon ended, and no work starts', async () => {
    const project = createProject({ config: 'mode: suggest\n' });
    await serve(project);
    const { runId, mark } = await startAgent(project);
    const place = breakConfig(project);
    for (const argv of [['runs'], ['show', runId], ['logs', runId], ['status'], ['cancel', runId]]) {
      const { code, stdout, stderr } = await project.caisson(...argv);
      expect([argv, code, stdout]).toEqual([
        argv,
        0,
        expect.stringContaining(argv[0] === 'logs' ? '' : runId),
      ]);
      expect(stderr).toContain(`warning: left out here: ${place}`);
    }
    await untilStatus(project, runId, 'cancelled');
    expect(pidsWith(mark)).toEqual([]);
    for (const argv of [['questions'], ['threads', 'list'], ['verify', runId], ['diff', runId]])
      expect([argv, (await project.caisson(...argv)).code]).toEqual([argv, 0]);
    for (const argv of [
      ['run', '--', 'true'],
      ['retry', runId],
      ['up', '-d', '--replace'],
      ['apply', runId],
    ])
      expect([argv, (await project.caisson(...argv)).code]).toEqual([argv, 2]);
    expect(await project.caisson('down', '--now')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The daemon has ended.') as string,
    });
  });

  it('an agent without its daemon is named by down and doctor, and cancelled', async () => {
    const project = createProject({ config: 'mode: suggest\n' });
    const daemon = await serve(project);
    const { runId, mark } = await startAgent(project);
    await killDaemon(daemon);
    const goesOn = `${runId} goes on, and waits for a daemon`;
    const down = await project.caisson('down', '--now');
    expect([down.code, down.stdout]).toEqual([0, expect.stringContaining(goesOn)]);
    expect(down.stdout).toContain(`caisson cancel ${runId} ends it, caisson up -d takes it over`);
    expect(JSON.parse((await project.caisson('down', '-o', 'json')).stdout)).toEqual({
      outcome: 'none',
      waiting: [runId],
    });
    const { stdout } = await project.caisson('doctor', '-o', 'json');
    const { probes } = JSON.parse(stdout) as { probes: { id: string }[] };
    const [found] = probes.filter(({ id }) => id === 'runs');
    expect(found).toMatchObject({
      verdict: 'warn',
      detail: goesOn,
      remedy: expect.stringContaining('up -d'),
    });
    expect(found).not.toHaveProperty('repair');

    breakConfig(project);
    expect(await project.caisson('cancel', runId, '--no-daemon')).toMatchObject({ code: 0 });
    expect([(await show(project, runId)).status, pidsWith(mark)]).toEqual(['cancelled', []]);
  });

  it('no other state folder is read in place of the one that it names', { timeout: LIMIT_MS }, async () => {
    const project = createProject({ config: 'state: kept\n' });
    const { runId } = await project.run('--', 'true');
    breakConfig(project);
    const { code, stderr } = await project.caisson('runs');
    expect([code, stderr]).toEqual([2, expect.stringContaining('--state-dir')]);
    const named = await project.caisson('runs', '--state-dir', 'kept');
    expect([named.code, named.stdout]).toEqual([0, expect.stringContaining(runId)]);
  });

  it('a thread is answered, with its daemon and without one, and its worker is steered', async () => {
    const flow = workflowOf({ decide: `return await ask('ship it?');` });
    const residents = await serveResidents(['workflows: { flow: { file: flow.ts, concurrency: 3 } }'], {
      'flow.ts': flow,
    });
    const { project } = residents;
    const ids = await Promise.all([1, 2, 3].map(() => startThread(project, 'flow')));
    const [first = '', second = '', third = ''] = ids;
    const isAsking = ({ waitsFor = [] }: { waitsFor?: readonly { kind: string }[] | undefined }): boolean =>
      waitsFor.some(({ kind }) => kind === 'ask');
    await Promise.all(ids.map((threadId) => untilThreadIs(residents, threadId, isAsking)));
    const visit = await openVisit(project);
    breakConfig(project);

    const answered = await project.caisson('answer', first, 'yes');
    expect([answered.code, answered.stdout]).toEqual([0, `answered: ${first} goes on\n`]);
    expect(answered.stderr).toMatch(/^warning: left out here: .*caisson\.yaml:/);
    expect((await untilEnded(residents, first)).status).toBe('done');
    const questions = await readJson<Record<'questionId' | 'runId', string>[]>(project, 'questions');
    const { questionId = '' } = questions.find(({ runId }) => runId === second) ?? {};
    const body = { answer: 'yes' };
    const { status } = await visit.ask('POST', `/v1/questions/${questionId}/answer`, { body });
    expect([status, (await untilEnded(residents, second)).status]).toEqual([200, 'done']);
    for (const verb of ['reset', 'restart', 'drain'])
      expect([verb, (await project.caisson('residents', verb, 'flow')).code]).toEqual([verb, 0]);
    for (const argv of [
      ['workflows', 'trigger', 'flow'],
      ['threads', 'resume', first],
    ])
      expect([argv, (await project.caisson(...argv)).code]).toEqual([argv, 2]);

    expect((await project.caisson('down', '--now')).code).toBe(0);
    const late = await project.caisson('answer', third, 'yes');
    expect([late.code, late.stdout]).toEqual([
      0,
      `answered: ${third} goes on with the next daemon (caisson up -d)\n`,
    ]);
  });

  it('what is there is exported, listed and told, and nothing is added to it', async () => {
    const project = createProject({ config: 'mode: suggest\n' });
    const { runId } = await project.run('--', 'true');
    project.write('reviewer.yaml', 'runtime: command\n');
    expect((await project.caisson('agents', 'register', 'reviewer', 'reviewer.yaml')).code).toBe(0);
    const place = breakConfig(project);
    for (const [words, shown] of [
      [['export', runId, '--to', 'proof.tar'], 'proof.tar'],
      [['agents', 'list'], 'reviewer'],
      [['agents', 'get', 'reviewer'], 'command'],
      [['keys'], 'own'],
      [['runtimes'], 'claude-code'],
      [['board', '--session', 'release', 'set', 'port', '8080'], '8080'],
      [['up', '--print-unit'], 'ExecStart'],
    ] as const) {
      const { code, stdout, stderr } = await project.caisson(...words);
      expect([words, code, stdout]).toEqual([words, 0, expect.stringContaining(shown)]);
      expect([words, stderr]).toEqual([words, expect.stringContaining(`warning: left out here: ${place}`)]);
    }
    for (const words of [
      ['keys', '--export'],
      ['agents', 'register', 'other', 'reviewer.yaml'],
      ['tokens', 'create', '--scope', 'read'],
      ['forget', runId],
      ['gc'],
    ])
      expect([words, (await project.caisson(...words)).code]).toEqual([words, 2]);

    project.write('../home/.config/caisson/config.yaml', 'mode: [\n');
    const checked = await project.caisson('verify', 'proof.tar');
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining('verified')]);
    expect(checked.stderr).toContain('warning: left out here:');
  });

  it('a client of caisson mcp ends a run, and starts and applies none', async () => {
    const project = createProject({ config: 'mode: suggest\n' });
    await serve(project);
    const { call, refusal } = await connectMcp(project);
    const { runId, mark } = await startAgent(project);
    breakConfig(project);
    expect(await call('status', { run: runId })).toMatchObject({ status: 'running' });
    expect(await call('cancel', { run: runId })).toMatchObject({ runId });
    await untilStatus(project, runId, 'cancelled');
    expect(pidsWith(mark)).toEqual([]);
    for (const [tool, input] of [
      ['apply', { run: runId }],
      ['dispatch', { command: ['true'] }],
    ] as const)
      expect([tool, JSON.stringify(await refusal(tool, input))]).toEqual([
        tool,
        expect.stringContaining('not valid YAML'),
      ]);
  });
});
