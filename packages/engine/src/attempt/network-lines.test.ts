import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Job, WorkerLine } from '@caisson/protocol';
import { startModelServer } from '@caisson/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { openRooms, prepareRun } from '../admission/fixtures/open-rooms.ts';
import { describeFollowed, follow } from './follow.ts';
import { launch } from './launch.ts';

const KEY = 'sk-ant-real-Zq81xP0vTn55LmRw7YbKc2';
const ASK = 'curl -s -H "x-api-key: $ANTHROPIC_API_KEY" -d "{}" "$ANTHROPIC_BASE_URL/v1/messages"';

/** A real worker whose agent asks its model once. `change` is made to the job before the worker reads it. */
async function followAgent(change: (job: Job) => Job = (job) => job) {
  const server = await startModelServer({ script: [{ turns: [{ say: 'hi' }] }], apiKey: KEY });
  onTestFinished(() => server.stop());
  const { rooms, project } = await openRooms({
    config: `runtimes: { claude-code: { bin: ./agent, endpoint: "${server.url}", apiKey: "file:model-key" } }\n`,
  });
  project.write('agent', `#!/bin/sh\n${ASK}\ncurl -s http://elsewhere.example/\n`);
  chmodSync(join(project.root, 'agent'), 0o755);
  project.write('model-key', KEY);
  const { run, record, prepared } = await prepareRun(rooms, {
    task: 'ask',
    runtime: 'claude-code',
    network: { kind: 'hosts', hosts: ['a.example:443'] },
  });
  onTestFinished(() => prepared.discard());
  const { paths } = prepared;
  writeFileSync(paths.job, JSON.stringify(change(JSON.parse(readFileSync(paths.job, 'utf8')) as Job)));
  const { worker, launched } = await launch(rooms, run, prepared);
  const parts = { ...prepared, attached: undefined, isAdoptable: false, launched };
  const followed = follow(rooms, describeFollowed(run), record, parts, worker);
  const end = await followed.ended;
  await record.flush();
  const text = readFileSync(paths.events, 'utf8');
  const [, ...lines] = text.trim().split('\n');
  return {
    ...{ rooms, run, paths, followed, end, text, server },
    lines: lines.map((line) => JSON.parse(line) as WorkerLine),
    events: rooms.ledger.read({ runId: run.runId }),
  };
}

test('what the network of an attempt saw is recorded, and counted before the ending', async () => {
  const { followed, lines, events, paths, text, server } = await followAgent();
  expect(server.modelRequests()).toHaveLength(1);
  const kinds = lines.map(({ kind }) => kind);
  expect(kinds.at(-1)).toMatch(/^dispatch\./);
  expect(kinds.lastIndexOf('model.usage')).toBeGreaterThan(kinds.lastIndexOf('network.connection'));
  expect(kinds.lastIndexOf('model.usage')).toBeGreaterThan(kinds.lastIndexOf('runtime.adapter.ran'));
  const last = lines.findLast((line) => line.kind === 'model.usage');
  expect(last?.usage).toMatchObject({ answers: 1, underWay: 0, isWhole: true });
  expect(followed.seen()).toEqual(last?.usage);
  expect(followed.countUsage()?.inputTokens).toBe(last?.usage.byModel[0]?.inputTokens);
  const recorded = ['network.connection', 'policy.denied', 'model.called'];
  expect(events.filter(({ type }) => recorded.includes(type)).map(({ id }) => id)).toEqual(
    lines
      .filter(({ kind }) => recorded.includes(kind))
      .map(({ seq }) => expect.stringMatching(`\\.1\\.${seq}$`) as string),
  );
  expect(events.find(({ type }) => type === 'model.called')?.data).toMatchObject({
    outcome: 'answered',
    tokens: { input: expect.any(Number) as number },
  });
  expect([text, JSON.stringify(events)].filter((all) => all.includes(KEY))).toEqual([]);
  expect([paths.job, paths.netSocket].filter(existsSync)).toEqual([]);
});

test('a network that cannot be opened fails the worker, and nothing of the agent runs', async () => {
  const { end, lines, server } = await followAgent((job) => ({
    ...job,
    network: job.network && { ...job.network, socket: '/nowhere/net.sock' },
  }));
  expect(end.lastWord).toMatchObject({
    kind: 'dispatch.failed',
    failure: {
      reason: 'worker-failed',
      detail: expect.stringContaining('cannot listen on /nowhere/net.sock') as string,
    },
  });
  expect(lines.filter(({ kind }) => kind === 'sandbox.started')).toEqual([]);
  expect(server.requests).toEqual([]);
});
