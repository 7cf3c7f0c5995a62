/** What a silent run waits for, by real signals; and what a stall timeout does about it. */
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WireEvent } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { createProject, finish, ROOT, until, type Project } from '../e2e/project.ts';
import { readCommand, treeOf } from './processes.ts';

const FAST = { CAISSON_HEARTBEAT_MS: '200' };

/** bubblewrap's outer process: the first one below the worker. */
function isWall(pid: number): boolean {
  return readCommand(pid).startsWith('/usr/bin/bwrap');
}

/** Runs until the run gives this reason for its silence, then ends it; a changed reason is reported again. */
async function untilStalled(project: Project, reason: string, ...args: string[]): Promise<WireEvent> {
  await project.trust();
  const child = project.start('run', ...args);
  const ended = finish(child);
  const runId = await until('a run', async () => {
    const listed = await project.caisson('runs', '-o', 'json');
    return (JSON.parse(listed.stdout) as { runId: string }[])[0]?.runId;
  });
  const stalled = await until(`a stall: ${reason}`, async () =>
    (await project.events(runId)).find((event) => event.type === 'run.stalled' && event['reason'] === reason),
  );
  child.kill('SIGTERM');
  await ended;
  return stalled;
}

describe('a silent run says why', { timeout: 120_000 }, () => {
  it.each([
    ['waiting-stdin', ['bash', '-c', 'exec < <(exec sleep 1000); read -r answer']],
    ['waiting-stdin', ['bash', '-c', 'exec < <(exec sleep 1000); sh -c "read -r answer"; true']],
    ['spinning', ['bash', '-c', 'while :; do :; done']],
    ['spinning', ['bash', '-c', 'while :; do perl -e "1 for 1..300_000"; done']],
    ['in-tool', ['sleep', '1000']],
    ['stopped', ['bash', '-c', 'kill -STOP $$']],
    ['stopped', ['bash', '-c', 'sh -c "kill -STOP \\$\\$"; true']],
  ])('%s', async (reason, argv) => {
    const project = createProject({ git: false, env: FAST, config: 'limits: { grace: 200ms }\n' });
    const stalled = await untilStalled(project, reason, '--', ...argv);
    expect(stalled['silentMs']).toBeGreaterThanOrEqual(400);
  });

  it.each([
    ['in-tool', 1, 'Bash'],
    ['model-silent', 0, 'its model'],
  ])('%s, of an agent that was recorded up to its first tool call', async (reason, more, words) => {
    const project = createProject({
      git: false,
      env: FAST,
      config:
        'limits: { grace: 200ms }\nruntimes: { claude-code: { bin: ./agent.sh, endpoint: "http://127.0.0.1:9" } }\n',
    });
    const recorded = readFileSync(
      join(ROOT, 'packages/worker/src/runtimes/claude-code/recorded/command.ndjson'),
      'utf8',
    ).split('\n');
    const until = recorded.findIndex((line) => line.includes('"tool_use"'));
    project.write('lines', `${recorded.slice(0, until + more).join('\n')}\n`);
    project.write(
      'agent.sh',
      '#!/bin/sh\n[ "$1" = --version ] && echo 2.1.0 && exit\ncat lines\nexec sleep 1000\n',
    );
    chmodSync(join(project.root, 'agent.sh'), 0o755);
    const stalled = await untilStalled(project, reason, '--runtime', 'claude-code', 'do it');
    expect(stalled['detail']).toContain(words);
  });
});

describe('an agent that ended while its sandbox does not', { timeout: 120_000 }, () => {
  it('is reported as exited-but-pipe-open, and the run can be ended', async () => {
    const project = createProject({ git: false, env: FAST, config: 'limits: { grace: 200ms }\n' });
    const host = project.start(
      'run',
      '-o',
      'json',
      '--',
      'sh',
      '-c',
      'while [ ! -e go ]; do sleep 0.1; done',
    );
    const ended = finish(host);
    // A process that the kernel cannot end is not to be had; a wall that stands still looks the same from outside.
    const wall = await until('the sandbox around the agent', () => {
      const tree = treeOf(host.pid ?? 0);
      return tree.some((pid) => readCommand(pid).startsWith('sh -c while')) ? tree.find(isWall) : null;
    });
    process.kill(wall, 'SIGSTOP');
    project.write('go', '');
    const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
    const runId = row?.runId ?? '';
    const stalled = await until('the stall', async () =>
      (await project.events(runId)).find(
        (event) => event.type === 'run.stalled' && event['reason'] === 'exited-but-pipe-open',
      ),
    );
    expect(stalled['detail']).toContain('the agent exited');
    expect((await project.caisson('show', runId)).stdout).toContain('exited-but-pipe-open');
    expect((await project.caisson('cancel', runId)).code).toBe(0);
    expect(JSON.parse((await ended).stdout)).toMatchObject({ status: 'cancelled' });
    expect(treeOf(wall)).toEqual([]);
    expect(readCommand(wall)).toBe('');
  });
});

describe('a long verify', { timeout: 120_000 }, () => {
  it('beats like an agent, and is what the run says it waits for', async () => {
    const project = createProject({ git: false, env: FAST, config: 'limits: { grace: 200ms }\n' });
    const stalled = await untilStalled(project, 'in-tool', '--verify', 'sleep 1000', '--', 'true');
    expect(stalled['detail']).toContain('script');
    const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
    const types = (await project.events(row?.runId ?? '')).map((event) => event.type);
    expect(types).not.toContain('health.changed');
  });
});

describe('a stall timeout', { timeout: 120_000 }, () => {
  it('ends a silent run with exit code 124 and says that it stalled', async () => {
    const project = createProject({ git: false, env: FAST, config: 'limits: { grace: 200ms }\n' });
    const result = await project.run('--stall-timeout', '1s', '--', 'sleep', '1000');
    expect(result).toMatchObject({ status: 'timeout', failure: { reason: 'timeout', cause: 'stalled' } });
    expect(result.cli.code).toBe(124);
    expect(result.durationMs).toBeLessThan(5000);
  });

  it('leaves a run alone that talks slowly but steadily', async () => {
    const project = createProject({ git: false, env: FAST });
    const program = 'for i in 1 2 3 4; do sleep 0.7; echo $i; done';
    const result = await project.run('--stall-timeout', '2s', '--', 'sh', '-c', program);
    expect(result).toMatchObject({ status: 'done', stdout: '1\n2\n3\n4\n' });
  });
});

describe('a child that holds stdout open', { timeout: 120_000 }, () => {
  it.each(['bwrap', 'none'])('does not hold the run open (sandbox %s)', async (sandbox) => {
    const project = createProject({ git: false });
    const program = 'setsid sleep 1000 & echo done';
    const startedMs = performance.now();
    const result = await project.run('--sandbox', sandbox, '--', 'bash', '-c', program);
    expect(result).toMatchObject({ status: 'done', exitCode: 0, stdout: 'done\n' });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});
