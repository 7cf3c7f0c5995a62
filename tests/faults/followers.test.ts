/**
 * A process that waits for a run of another process learns of its end, also when that process cannot report it any
 * more.
 */
import { expect, it } from 'vitest';
import { createProject, finish, until } from '../e2e/project.ts';
import { countCommands } from './processes.ts';

it('a host that is killed ends the wait of every follower of its run', { timeout: 40_000 }, async () => {
  const project = createProject();
  const mark = `sleep 77${process.pid}`;
  const task = ['--idempotency-key', 'one', '--', 'sh', '-c', `echo printed; exec ${mark}`];
  const host = project.start('run', ...task);
  const ended = finish(host);
  await until('the agent runs', () => countCommands(mark) > 0);
  const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
  const runId = row?.runId ?? '';
  const events = project.start('logs', runId, '-f', '-o', 'ndjson');
  const output = project.start('logs', runId, '-f', '--stdout');
  const second = project.start('run', '-o', 'json', ...task);
  const followers = [finish(events), finish(output), finish(second)];
  await Promise.all(
    [events, output, second].map(
      (child) =>
        new Promise((resolve) => {
          (child === second ? child.stderr : child.stdout)?.once('data', resolve);
        }),
    ),
  );
  host.kill('SIGKILL');
  await ended;
  const [received, printed, result] = await Promise.all(followers);
  expect(received?.stdout).toContain('"type":"dispatch.failed"');
  expect(printed?.stdout).toBe('printed\n');
  expect(JSON.parse(result?.stdout ?? '')).toMatchObject({ runId, failure: { reason: 'lost' } });
  expect(countCommands(mark)).toBe(0);
});
