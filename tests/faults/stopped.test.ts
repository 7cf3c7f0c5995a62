/** Processes that stand still and clocks that jump: nothing is killed for it, and no duration goes wrong. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DaemonStatus, DispatchResult, WireEvent } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { createProject, finish, until, type Project } from '../e2e/project.ts';
import { fakeClock } from './fake-clock.ts';
import { serve } from './killed-daemons.ts';
import { findWorker, readCommand, treeOf } from './processes.ts';

const STILL_MS = 3000;
const FAST = { CAISSON_HEARTBEAT_MS: '200' };
/** Says something every 200 ms for the given time; where the file is seen, it has begun. */
const talk = (seconds: number): string =>
  `touch begun; for i in $(seq ${seconds * 5}); do echo $i; sleep 0.2; done`;

interface Run {
  readonly result: DispatchResult;
  readonly events: WireEvent[];
  readonly stderr: string;
}

/** Starts a talking run, lets `meddle` do its worst once the agent talks, and waits for the end. */
async function runMeddled(
  project: Project,
  args: readonly string[],
  program: string,
  meddle: (host: number) => Promise<void>,
): Promise<Run> {
  const child = project.start('run', '-o', 'json', ...args, '--', 'sh', '-c', program);
  const ended = finish(child);
  await until('the agent has begun', () => existsSync(join(project.root, 'begun')));
  await meddle(child.pid ?? 0);
  const cli = await ended;
  const result = JSON.parse(cli.stdout) as DispatchResult;
  return { result, events: await project.events(result.runId), stderr: cli.stderr };
}

async function standStill(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, ms)); // the standing still itself, not a wait for something
  process.kill(pid, 'SIGCONT');
}

function healthOf(events: readonly WireEvent[]): unknown[] {
  return events.filter((event) => event.type === 'health.changed').map((event) => event['current']);
}

describe('a process that stands still', { timeout: 120_000 }, () => {
  it('a stopped worker is stale, dead, recovered and healthy again, and is never killed', async () => {
    const project = createProject({ git: false, env: FAST });
    const { result, events } = await runMeddled(project, ['--timeout', '60s'], talk(5), (host) =>
      standStill(findWorker(host), STILL_MS),
    );
    expect(result).toMatchObject({ status: 'done', exitCode: 0 });
    expect(healthOf(events)).toEqual(['stale', 'dead', 'recovered', 'healthy']);
    const stalled = events.filter((event) => event.type === 'run.stalled');
    expect(stalled.map((event) => event['reason'])).toEqual(['stopped']);
    expect(stalled[0]?.['detail']).toContain('the worker');
    expect(result.stdout.trim().split('\n')).toHaveLength(25);
  });

  it('a stopped host blames no run when it continues: no stall, no change of health, no kill', async () => {
    const project = createProject({ git: false, env: FAST });
    const { result, events } = await runMeddled(
      project,
      ['--timeout', '60s', '--stall-timeout', '2s'],
      talk(5),
      (host) => standStill(host, STILL_MS),
    );
    expect(result).toMatchObject({ status: 'done', exitCode: 0 });
    expect(healthOf(events)).toEqual([]);
    expect(events.map((event) => event.type)).not.toContain('run.stalled');
  });

  it('a stopped agent is silent, not lost: the run says so and goes on with it', async () => {
    const project = createProject({ git: false, env: FAST });
    const { result, events } = await runMeddled(project, ['--timeout', '60s'], talk(2), async (host) => {
      const agent = treeOf(findWorker(host)).find((pid) => readCommand(pid).startsWith('sh -c touch begun'));
      await standStill(agent ?? 0, STILL_MS);
    });
    expect(result).toMatchObject({ status: 'done', exitCode: 0 });
    expect(events.filter((event) => event.type === 'run.stalled').map((event) => event['reason'])).toEqual([
      'stopped',
    ]);
    expect(healthOf(events)).toEqual([]);
  });

  it('a stopped host still counts as alive for others: its run is not taken from it', async () => {
    const project = createProject({ git: false, env: FAST });
    const { result } = await runMeddled(project, ['--timeout', '60s'], talk(3), async (host) => {
      process.kill(host, 'SIGSTOP');
      const listed = await project.caisson('runs', '-o', 'json');
      expect(JSON.parse(listed.stdout)).toMatchObject([{ status: 'running' }]);
      process.kill(host, 'SIGCONT');
    });
    expect(result.status).toBe('done');
  });
});

describe('a wall clock that jumps under the host', { timeout: 120_000 }, () => {
  it('leaves the uptime of a daemon right', async () => {
    const project = createProject({ git: false });
    const clock = fakeClock(project);
    await serve(project);
    const readStatus = async (): Promise<DaemonStatus> =>
      JSON.parse((await project.caisson('status', '-o', 'json')).stdout) as DaemonStatus;
    const before = await readStatus();
    clock.jump('+3600');
    const { uptimeMs } = await readStatus();
    expect(uptimeMs).toBeGreaterThanOrEqual(before.uptimeMs);
    expect(uptimeMs).toBeLessThan(60_000);
  });

  it.each([
    ['forward by an hour', '+3600'],
    ['back by a day', '-86400'],
  ])('%s times nothing out and leaves every duration right', async (_name, offset) => {
    const project = createProject({ git: false, env: FAST });
    const clock = fakeClock(project);
    const { result, events } = await runMeddled(
      project,
      ['--timeout', '30s', '--stall-timeout', '10s'],
      talk(2),
      () => {
        clock.jump(offset);
        return Promise.resolve();
      },
    );
    expect(result).toMatchObject({ status: 'done', exitCode: 0 });
    expect(result.durationMs).toBeGreaterThan(1900);
    expect(result.durationMs).toBeLessThan(20_000);
    const [first, last] = [events.at(0), events.findLast((event) => event.type === 'dispatch.finished')];
    const jumpedMs = Date.parse(last?.at ?? '') - Date.parse(first?.at ?? '');
    expect(Math.abs(jumpedMs)).toBeGreaterThan(3_000_000); // the host's clock did jump
    for (const event of events) expect(Number(event['durationMs'] ?? 0)).toBeGreaterThanOrEqual(0);
    expect(healthOf(events)).toEqual([]);
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, at) => at + 1));
  });
});
