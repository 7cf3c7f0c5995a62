import { expect, it } from 'vitest';
import { createProject, finish, until } from './project.ts';

it('a message reaches a running worker, appears in its inbox and is acknowledged', async () => {
  const project = createProject();
  const child = project.start(
    'run',
    '-o',
    'json',
    '--',
    'sh',
    '-c',
    'until [ "$(wc -l < .caisson/channel/inbox.jsonl 2>/dev/null)" = 2 ]; do sleep 0.05; done; cat .caisson/channel/inbox.jsonl',
  );
  const ended = finish(child);
  const runId = await until('a started run', async () => {
    const runs = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as {
      runId: string;
      status: string;
    }[];
    return runs.find((run) => run.status === 'running')?.runId;
  });
  await until('the worker is up', async () =>
    (await project.caisson('logs', runId, '-o', 'ndjson', '--after', '0')).stdout.includes(
      'dispatch.started',
    ),
  );
  const first = await project.caisson('send', runId, 'skip the Windows tests', '-o', 'json');
  expect(first.code).toBe(0);
  const { messageId, live } = JSON.parse(first.stdout) as { messageId: string; live: boolean };
  const second = await project.caisson('send', runId, 'a second line\nwith a break and "quotes"');
  expect([live, second.stdout]).toEqual([
    false,
    expect.stringContaining('command accepts no message while it works') as string,
  ]);
  const result = JSON.parse((await ended).stdout) as { status: string; stdout: string };
  expect(result.status).toBe('done');
  const inbox = result.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; body: string; at: string });
  expect(inbox.map(({ body }) => body)).toEqual([
    'skip the Windows tests',
    'a second line\nwith a break and "quotes"',
  ]);
  expect(inbox[0]?.id).toBe(messageId);
  const events = await project.events(runId);
  const sent = events.filter((event) => event.type === 'channel.sent').map((event) => event['messageId']);
  const received = events
    .filter((event) => event.type === 'channel.received')
    .map((event) => event['messageId']);
  expect(sent).toEqual(inbox.map(({ id }) => id));
  expect(received).toEqual(sent);
});

it('a message to a run that has ended is refused with what to do instead', async () => {
  const project = createProject();
  const run = await project.run('--', 'true');
  const sent = await project.caisson('send', run.runId, 'hello?');
  expect(sent.code).toBe(1);
  expect(sent.stderr).toContain('has ended and receives no messages');
  expect(sent.stderr).toContain('caisson retry');
  expect((await project.caisson('send', 'run_nobody', 'hello?')).stderr).toContain('there is no run');
});

it.each(['echo x > .caisson/channel', 'ln -s /nowhere/else .caisson/channel'])(
  'a channel that a setup script stands in the way of (%s) fails the run in step 10, and says what to do',
  async (setup) => {
    const project = createProject({ config: `workspace: { setup: "${setup}" }\n` });
    const run = await project.run('--', 'true');
    expect(run).toMatchObject({ status: 'error', failure: { reason: 'worker-failed', step: 10 } });
    expect(run.failure?.detail).toContain('.caisson/channel, where messages to the agent appear');
    expect(run.failure?.detail).toContain('A setup script left something else under that name');
    const shown = JSON.parse((await project.caisson('show', run.runId, '-o', 'json')).stdout) as typeof run;
    expect(shown.failure).toEqual(run.failure);
    const events = await project.events(run.runId);
    expect(events.filter(({ type }) => type === 'dispatch.failed')).toMatchObject([
      { failure: { step: 10 } },
    ]);
  },
);
