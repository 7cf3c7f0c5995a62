/** Real agents, whose model is scripted, go on when their daemon is killed: in an answer, a tool, an approval, a check. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { attemptPaths } from '../../packages/engine/src/attempt/state-paths.ts';
import { lockLedger } from '../../packages/engine/src/ledger/fixtures/lock-ledger.ts';
import { until, type Project } from '../e2e/project.ts';
import {
  expectWhole,
  killDaemon,
  openedLedger,
  serve,
  show,
  typesOf,
  untilAdopted,
  untilStatus,
  type Events,
} from './killed-daemons.ts';
import { listFolder } from './moments.ts';
import {
  command,
  createAgents,
  detach,
  letGo,
  untilAt,
  untilFile,
  usage,
  type Agents,
} from './scripted-agents.ts';

const LIMIT_MS = 180_000;
/** At 48 bytes every 10 ms it takes seconds. */
const LONG = 'word '.repeat(400);

const DEPENDS_ON_TIME = /^(?:run\.stalled|health\.changed)$/;

const ofType = (events: Events, type: string): Events => events.filter((event) => event.type === type);

describe.each(['native', 'claude-code', 'codex'])('an agent of %s', { timeout: LIMIT_MS }, (runtime) => {
  const CHECKED = ['--verify', untilFile('checked'), '--verify-lens', 'verify'];

  /** Asks once and is answered slowly; uses a tool; ends; is checked. `disturb` is called at each of these places. */
  async function work(agents: Agents, disturb: (runId: string) => Promise<void>): Promise<string> {
    const { model } = agents;
    const runId = await detach(agents, ...CHECKED, 'work on it');
    await until('the model is asked', () => model.modelRequests().length > 0, 60_000);
    await disturb(runId);
    await untilAt(agents, runId, 'used');
    await disturb(runId);
    letGo(agents, runId, 'used');
    await untilAt(agents, runId, 'checked');
    await disturb(runId);
    letGo(agents, runId, 'checked');
    await untilStatus(agents.project, runId, 'done');
    return runId;
  }

  it('is not cut off from its model, and costs what it would have cost, when its daemon is killed three times', async () => {
    const script = [
      { say: LONG, fault: 'drip' as const, ...command(untilFile('used')), ...usage(1000, 500) },
      { say: 'Done.', ...usage(2000, 50) },
    ];
    const [undisturbed, disturbed] = [
      await createAgents(script, { runtime }),
      await createAgents(script, { runtime }),
    ];
    const { project } = disturbed;
    let daemon = await serve(project);
    let adoptions = 0;
    const [calmId, hurtId] = await Promise.all([
      work(undisturbed, () => Promise.resolve()),
      work(disturbed, async (runId) => {
        await killDaemon(daemon);
        if (adoptions === 0) expect(disturbed.model.usage().outputTokens).toBe(0); // in the middle of the answer
        daemon = await serve(project);
        await untilAdopted(project, runId, (adoptions += 1));
      }),
    ]);
    expect(disturbed.model.modelRequests()).toHaveLength(undisturbed.model.modelRequests().length);
    expect(disturbed.model.usage()).toEqual(undisturbed.model.usage());
    const [calm, hurt] = [await show(undisturbed.project, calmId), await show(project, hurtId)];
    const { durationMs: _calm, ...calmUsage } = calm.result?.usage ?? {};
    const { durationMs: _hurt, ...hurtUsage } = hurt.result?.usage ?? {};
    expect(hurtUsage).toEqual(calmUsage);
    expect([hurt.costUsd, hurt.reply, hurt.result?.verify?.passed]).toEqual([
      calm.costUsd,
      calm.reply,
      calm.result?.verify?.passed,
    ]);
    const timeless = (events: Events): string[] =>
      typesOf(events).filter((type) => !DEPENDS_ON_TIME.test(type));
    const kept = timeless(await expectWhole(project, hurtId)).filter((type) => type !== 'run.adopted');
    expect(kept.toSorted()).toEqual(timeless(await expectWhole(undisturbed.project, calmId)).toSorted());
  });
});

describe('a call that waits for a person', { timeout: LIMIT_MS }, () => {
  async function ask(): Promise<Agents & { runId: string; approvalId: string; deadlineAt: string }> {
    const agents = await createAgents([command('rm -rf old'), { say: 'Removed.' }]);
    const { project } = agents;
    project.write('old/file.txt', 'old\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'old');
    const daemon = await serve(project);
    const runId = await detach(agents, '--mode', 'full-auto', 'clean up');
    const open = await until('it is asked', async () => (await listApprovals(project))[0]);
    await killDaemon(daemon);
    return { ...agents, runId, ...open };
  }

  async function expectAllowedOnce(project: Project, runId: string, approvalId: string): Promise<void> {
    await untilStatus(project, runId, 'done');
    const events = await expectWhole(project, runId);
    expect(ofType(events, 'approval.requested')).toHaveLength(1);
    expect(ofType(events, 'approval.decided')).toMatchObject([{ approvalId, decision: 'allow', by: 'user' }]);
    expect((await project.caisson('diff', runId)).stdout).toContain('deleted file');
  }

  it('is approved after the adoption under the same name and with the same deadline, once', async () => {
    const { project, runId, approvalId, deadlineAt } = await ask();
    await serve(project);
    await untilAdopted(project, runId);
    expect(await listApprovals(project)).toMatchObject([{ approvalId, deadlineAt, status: 'open' }]);
    expect((await project.caisson('approve', approvalId)).code).toBe(0);
    expect((await project.caisson('approve', approvalId)).code).toBe(1);
    await expectAllowedOnce(project, runId, approvalId);
  });

  it('that begins while there is no daemon waits for the next one, and is asked there', async () => {
    const script = [command(untilFile('go')), command('rm -rf old'), { say: 'Removed.' }];
    const agents = await createAgents(script);
    const { project } = agents;
    project.write('old/file.txt', 'old\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'old');
    const daemon = await serve(project);
    const runId = await detach(agents, '--mode', 'full-auto', 'clean up');
    await untilAt(agents, runId, 'go');
    await killDaemon(daemon);
    letGo(agents, runId, 'go');
    await until('its worker has asked', () => hasAsked(project, runId));
    expect(await listApprovals(project)).toEqual([]); // a request that no daemon has recorded
    await serve(project);
    await untilAdopted(project, runId);
    const open = await until('it is asked', async () => (await listApprovals(project))[0]);
    expect((await project.caisson('approve', open.approvalId)).code).toBe(0);
    await expectAllowedOnce(project, runId, open.approvalId);
  });

  it('gets the decision that was recorded and that its daemon did not deliver', async () => {
    const { project, runId, approvalId } = await ask();
    const ledger = openedLedger(join(project.root, '.caisson'));
    const [asked] = ledger.read({ runId, types: ['approval.requested'] });
    await ledger.append([
      {
        ...{ runId, attempt: 1, type: 'approval.decided', version: 1, trace: asked?.trace ?? '' },
        at: new Date().toISOString(),
        data: { approvalId, decision: 'allow', by: 'user' },
      },
    ]);
    await serve(project);
    await expectAllowedOnce(project, runId, approvalId);
  });
});

/** What a worker says is in a file until a host has recorded it. */
function hasAsked({ root }: Project, runId: string): boolean {
  const { events } = attemptPaths(join(root, '.caisson'), runId, 1);
  return readFileSync(events, 'utf8').includes('rm -rf old');
}

interface Approval {
  readonly approvalId: string;
  readonly deadlineAt: string;
}

const listApprovals = async (project: Project): Promise<Approval[]> =>
  JSON.parse((await project.caisson('approvals', '-o', 'json')).stdout) as Approval[];

it('a run and the run that its agent dispatched are both adopted', { timeout: LIMIT_MS }, async () => {
  const agents = await createAgents([
    {
      when: 'parent task',
      turns: [
        { tool: { intent: 'mcp', tool: 'dispatch', arguments: { task: 'child task', agent: 'worker' } } },
        { say: 'Both done.', ...usage(700, 7) },
      ],
    },
    {
      when: 'child task',
      turns: [
        { ...command(untilFile('used')), ...usage(300, 3) },
        { say: 'Child done.', ...usage(400, 4) },
      ],
    },
  ]);
  const { project, model } = agents;
  const daemon = await serve(project);
  const parent = await detach(agents, '--agent', 'worker', 'parent task');
  const listRuns = async (): Promise<string[]> =>
    (JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[]).map(
      ({ runId }) => runId,
    );
  const child = await until(
    'the child',
    async () => (await listRuns()).find((runId) => runId !== parent),
    60_000,
  );
  await untilAt(agents, child, 'used');
  await killDaemon(daemon);
  await serve(project);
  await Promise.all([parent, child].map((runId) => untilAdopted(project, runId)));
  letGo(agents, child, 'used');
  await untilStatus(project, parent, 'done');
  expect((await listRuns()).toSorted()).toEqual([parent, child].toSorted());
  const [ofParent, ofChild] = [await show(project, parent), await show(project, child)];
  expect([ofParent.reply, ofChild.status]).toEqual(['Both done.', 'done']);
  expect(JSON.stringify(model.modelRequests().at(-1)?.body)).toContain('Child done.');
  expect(ofChild.result?.usage).toMatchObject({ inputTokens: 700, outputTokens: 7 });
  expect(model.modelRequests()).toHaveLength(4);
  for (const runId of [parent, child]) await expectWhole(project, runId);
});

it(
  'a result that no daemon has read is taken by the next one, and sealed once',
  { timeout: LIMIT_MS },
  async () => {
    const agents = await createAgents([command(untilFile('used')), { say: 'Done.', ...usage(200, 20) }]);
    const { project } = agents;
    const daemon = await serve(project);
    const runId = await detach(agents, 'work on it');
    await untilAt(agents, runId, 'used');
    const free = lockLedger(join(project.root, '.caisson/ledger.db')); // the daemon cannot record the ending
    onTestFinished(free);
    letGo(agents, runId, 'used');
    const results = join(project.root, '.caisson/runtime/results');
    await until(
      'the result',
      () => listFolder(results).some((name) => name.endsWith('.result.json')),
      30_000,
    );
    await killDaemon(daemon);
    free();
    await serve(project);
    await untilStatus(project, runId, 'done');
    const types = typesOf(await expectWhole(project, runId));
    expect(types.filter((type) => type === 'evidence.sealed')).toHaveLength(1);
    expect((await show(project, runId)).reply).toBe('Done.');
  },
);
