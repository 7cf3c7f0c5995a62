/**
 * Many processes, one project: the limit applies across all of them, no run starves, and no dead process keeps
 * anything.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, finish, makeState, until, type CliRun, type Project } from '../e2e/project.ts';
import { fakeClock } from './fake-clock.ts';
import { countCommands } from './processes.ts';

const CROWD = 20;

interface Stage {
  readonly project: Project;
  readonly ledger: Ledger;
}

function openStage(limits: string): Stage {
  const project = createProject({ git: false, config: `limits: { ${limits}, grace: 200ms }\n` });
  const stateDir = makeState(project);
  const ledger = openLedger(join(stateDir, 'ledger.db'));
  onTestFinished(() => ledger.close());
  return { project, ledger };
}

const EMPTY = ['--workspace', 'empty'] as const;
/** Holds its slot until the file appears; without a sandbox, where the project's folder can be seen. */
const holdUntil = (path: string): string[] => [
  '--sandbox',
  'none',
  '--',
  'sh',
  '-c',
  `until [ -e ${path} ]; do sleep 0.05; done`,
];

/** Starts a run that holds a slot until the returned function is called. */
async function holdSlot(
  { project, ledger }: Stage,
  name: string,
): Promise<{ release(): void; ended: Promise<CliRun>; pid: number }> {
  const before = ledger.read({ types: ['dispatch.started'] }).length;
  const child = project.start('run', ...EMPTY, ...holdUntil(join(project.root, name)));
  const ended = finish(child);
  await until(`${name} holds its slot`, () => ledger.read({ types: ['dispatch.started'] }).length > before);
  return { release: () => project.write(name, ''), ended, pid: child.pid ?? 0 };
}

async function queueRun({ project, ledger }: Stage, ...args: string[]): Promise<{ ended: Promise<CliRun> }> {
  const before = ledger.runs().length;
  const ended = finish(project.start('run', ...EMPTY, ...args, '--', 'true'));
  await until('one more is accepted', () => ledger.runs().length > before);
  return { ended }; // in an object, so that waiting for the acceptance is not waiting for the end
}

function startedOrder(ledger: Ledger): string[] {
  return ledger.read({ types: ['dispatch.started'] }).map((event) => event.runId ?? '');
}

describe('a crowd', { timeout: 120_000 }, () => {
  it('that comes at once gets the slots and the places to wait, and not one more', async () => {
    const stage = openStage('concurrency: 1, queue: 2');
    const runs = Array.from({ length: 8 }, () =>
      finish(stage.project.start('run', ...EMPTY, ...holdUntil(join(stage.project.root, 'go')))),
    );
    await until('five are refused', () => stage.ledger.read({ types: ['task.refused'] }).length === 5);
    expect(stage.ledger.runs()).toHaveLength(3);
    stage.project.write('go', '');
    const ended = await Promise.all(runs);
    expect(ended.filter(({ code }) => code === 0)).toHaveLength(3);
    expect(ended.filter(({ code }) => code === 1)).toHaveLength(5);
    expect(ended.find(({ code }) => code === 1)?.stderr).toMatch(/the limit is 2.*limits\.queue/);
  });

  it('may have no place to wait at all', async () => {
    const stage = openStage('concurrency: 1, queue: 0');
    const held = await holdSlot(stage, 'a');
    expect((await stage.project.caisson('run', ...EMPTY, '--', 'true')).code).toBe(1);
    held.release();
    expect((await held.ended).code).toBe(0);
    expect((await stage.project.caisson('run', ...EMPTY, '--', 'true')).code).toBe(0);
  });

  it(`of ${CROWD} runs from separate processes never has more than 4 slots, and all of them finish`, async () => {
    const { project, ledger } = openStage('concurrency: 4');
    await project.trust(); // once: twenty at the same moment wait for each other's lock
    const mark = `0.1${process.pid}`;
    let most = 0;
    let mostAgents = 0;
    const sampling = setInterval(() => {
      most = Math.max(most, ledger.leases.listSlots().length);
      mostAgents = Math.max(mostAgents, countCommands(`sleep ${mark}`));
    }, 20);
    const ended = await Promise.all(
      Array.from({ length: CROWD }, () =>
        finish(project.start('run', '-o', 'json', ...EMPTY, '--', 'sleep', mark)),
      ),
    );
    clearInterval(sampling);
    expect(ended.map((cli) => cli.code)).toEqual(Array<number>(CROWD).fill(0));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
    expect(mostAgents).toBeGreaterThan(0);
    expect(mostAgents).toBeLessThanOrEqual(4);
    expect(mostAtOnce(ledger)).toBeLessThanOrEqual(4);
    expect(ledger.runs().map((row) => row.status)).toEqual(Array<string>(CROWD).fill('done'));
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    expect(ledger.leases.hosts()).toEqual([]);
    // First come, first served: no run starts before one that was accepted earlier.
    const accepted = ledger.read({ types: ['dispatch.accepted'] }).map((event) => event.runId);
    const slack = startedOrder(ledger).map((runId, place) => Math.abs(accepted.indexOf(runId) - place));
    expect(Math.max(...slack)).toBeLessThan(4);
  }, 120_000);

  it('is served by priority, then in the order it came', async () => {
    const stage = openStage('concurrency: 1');
    const holder = await holdSlot(stage, 'go');
    const waiting = [
      await queueRun(stage),
      await queueRun(stage, '--priority', '9'),
      await queueRun(stage, '--priority', '1'),
      await queueRun(stage),
    ];
    const [, normal, low, high, second] = stage.ledger
      .read({ types: ['dispatch.accepted'] })
      .map((event) => event.runId ?? '');
    holder.release();
    expect(
      (await Promise.all([holder.ended, ...waiting.map((each) => each.ended)])).map((cli) => cli.code),
    ).toEqual([0, 0, 0, 0, 0]);
    expect(startedOrder(stage.ledger).slice(1)).toEqual([high, normal, second, low]);
  });

  it('makes no run wait for ever: one that waited long goes before a later one of the first priority', async () => {
    const stage = openStage('concurrency: 1');
    const clock = fakeClock(stage.project);
    const holder = await holdSlot(stage, 'go');
    const low = await queueRun(stage, '--priority', '10');
    clock.jump('+270'); // nine steps of 30 s
    const high = await queueRun(stage, '--priority', '1');
    const [, first, second] = stage.ledger.read({ types: ['dispatch.accepted'] }).map((event) => event.runId);
    holder.release();
    const ended = await Promise.all([holder.ended, low.ended, high.ended]);
    expect(ended.map((cli) => cli.code)).toEqual([0, 0, 0]);
    expect(startedOrder(stage.ledger).slice(1)).toEqual([first, second]);
  });

  it('is refused beyond the slots with --overflow reject, and beyond the bound of the queue, each with an event', async () => {
    const stage = openStage('concurrency: 1, queue: 1');
    const holder = await holdSlot(stage, 'go');
    const rejected = await stage.project.caisson('run', ...EMPTY, '--overflow', 'reject', '--', 'true');
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toContain('all 1 slots are taken');
    const queued = await queueRun(stage);
    const full = await stage.project.caisson('run', ...EMPTY, '--', 'true');
    expect(full.code).toBe(1);
    expect(full.stderr).toContain('the limit is 1');
    holder.release();
    expect((await queued.ended).code).toBe(0);
    await holder.ended;
    expect(stage.ledger.read({ types: ['task.refused'] })).toHaveLength(2);
    expect(stage.ledger.runs()).toHaveLength(2);
  });

  it('continues without help when the host of the run before it is killed', async () => {
    const stage = openStage('concurrency: 1');
    const holder = await holdSlot(stage, 'never');
    const waiting = await queueRun(stage);
    process.kill(holder.pid, 'SIGKILL');
    expect((await waiting.ended).code).toBe(0);
    expect(
      stage.ledger
        .runs()
        .map((row) => row.status)
        .toSorted(),
    ).toEqual(['done', 'interrupted']);
    expect(stage.ledger.leases.hosts()).toEqual([]);
  });

  it('loses a queued run whose host was killed, and the queue moves on', async () => {
    const stage = openStage('concurrency: 1');
    const holder = await holdSlot(stage, 'go');
    const doomed = stage.project.start('run', ...EMPTY, '--', 'touch', join(stage.project.root, 'doomed'));
    await until('it waits', () => stage.ledger.read({ types: ['run.queued'] }).length === 1);
    doomed.kill('SIGKILL');
    const behind = await queueRun(stage);
    holder.release();
    expect((await behind.ended).code).toBe(0);
    await holder.ended;
    expect((await stage.project.caisson('runs')).code).toBe(0);
    const rows = stage.ledger.runs().toSorted((a, b) => (a.acceptedAt < b.acceptedAt ? -1 : 1));
    expect(rows.map((row) => row.status)).toEqual(['done', 'interrupted', 'done']);
    expect(existsSync(join(stage.project.root, 'doomed'))).toBe(false);
  });

  it('can be left by Ctrl-C while waiting', async () => {
    const stage = openStage('concurrency: 1');
    const holder = await holdSlot(stage, 'go');
    const impatient = stage.project.start('run', ...EMPTY, '--', 'true');
    const ended = finish(impatient);
    await until('it waits', () => stage.ledger.read({ types: ['run.queued'] }).length === 1);
    impatient.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect(stage.ledger.leases.queueLength('default')).toBe(0);
    holder.release();
    expect((await holder.ended).code).toBe(0);
  });
});

/** From the ledger itself: how many runs were between their launch and their end at the same time. */
function mostAtOnce(ledger: Ledger): number {
  let now = 0;
  let most = 0;
  for (const event of ledger.read({ types: ['attempt.launched', 'dispatch.finished', 'dispatch.failed'] })) {
    now += event.type === 'attempt.launched' ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}
