/** A pool of workers as an OpenTelemetry backend sees it. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventEnvelope } from '@caisson/protocol';
import { createCaisson, grantTrust, WorkerPool } from 'caisson';
import { startModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { startOtlpReceiver, type OtlpReceiver } from './otlp-receiver.ts';
import { createProject, until } from './project.ts';

const KEY = 'pool-model-key-Zx81';
const PARENT = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
const TASKS = ['one', 'two', 'three', 'four', 'five'];

async function openPool(receiver: OtlpReceiver) {
  const source = createProject();
  const remote = join(source.root, '..', 'remote.git');
  execFileSync('git', ['clone', '-q', '--bare', source.root, remote]);
  const script = [
    { tool: { intent: 'write-file' as const, path: 'made.txt', content: 'x' } },
    { say: 'Done.' },
  ];
  const model = await startModelServer({ script, apiKey: KEY });
  onTestFinished(() => model.stop());
  const project = createProject({ config: `telemetry: { endpoint: "${receiver.url}" }\n` });
  await grantTrust({ cwd: project.root });
  const keyFile = join(project.root, '..', 'key');
  writeFileSync(keyFile, KEY);
  const llm = { endpoint: model.url, model: 'scripted-model', apiKey: `file:${keyFile}` };
  const config = {
    cwd: project.root,
    llm,
    git: { url: remote, branch: 'main' },
    request: { runtime: 'native' },
  };
  const pool = new WorkerPool(config, 'You are a worker.');
  onTestFinished(() => pool.stop());
  return { project, pool };
}

it('five tasks of a pool are one tree under their caller, with the times of the ledger', async () => {
  const receiver = await startOtlpReceiver();
  const { project, pool } = await openPool(receiver);
  const work = { description: 'Do it', scope: [], status: 'pending', createdAt: Date.now(), priority: 5 };
  const span = { spanContext: () => PARENT };
  const handoffs = await Promise.all(TASKS.map((id) => pool.assignTask({ id, ...work }, span)));
  expect(handoffs.map(({ verdict }) => verdict.pushed)).toEqual(TASKS.map(() => true));
  await pool.stop();
  const { spans } = receiver;
  const roots = await until('five trees', () => {
    const found = spans.filter(({ name }) => name === 'worker.execute');
    return found.length === TASKS.length ? found : null;
  });
  expect(spans.map(({ traceId }) => traceId)).toEqual(spans.map(() => PARENT.traceId));
  expect(roots.map(({ parentSpanId }) => parentSpanId)).toEqual(TASKS.map(() => PARENT.spanId));
  const known = new Set([PARENT.spanId, ...roots.map(({ spanId }) => spanId)]);
  expect(spans.filter(({ parentSpanId }) => !known.has(parentSpanId))).toEqual([]); // no orphan
  expect(new Set(roots.map(({ attributes }) => attributes['taskId']))).toEqual(new Set(TASKS));
  const caisson = await createCaisson({ cwd: project.root });
  onTestFinished(() => caisson.close());
  for (const { attributes, events, startMs, endMs, spanId } of roots) {
    expect(attributes).toMatchObject({ agentId: 'worker-pool', status: 'partial', filesChanged: 1 });
    const recorded = await caisson.events(String(attributes['caisson.run.id']));
    const atMs = (type: string) => Date.parse(recorded.find((event) => event.type === type)?.at ?? '');
    expect([startMs, endMs]).toEqual([atMs('dispatch.accepted'), atMs('branch.pushed')]);
    expect(events).toEqual([
      { name: 'sandbox.cloned', atMs: atMs('repository.fetched') },
      { name: 'sandbox.created', atMs: atMs('attempt.launched') },
      { name: 'sandbox.workerStarted', atMs: atMs('dispatch.started') },
      { name: 'sandbox.pushed', atMs: atMs('branch.pushed') },
    ]);
    const children = spans.filter(({ parentSpanId }) => parentSpanId === spanId);
    const times = children.map((span) => [span.name, span.startMs, span.endMs]);
    expect(times.toSorted(byStart)).toEqual(listWork(recorded).toSorted(byStart));
    expect(times.length).toBeGreaterThanOrEqual(3); // two requests, one tool
  }
}, 120_000);

type Times = readonly (string | number)[];
const byStart = (left: Times, right: Times): number =>
  Number(left[1]) - Number(right[1]) || String(left[0]).localeCompare(String(right[0]));

/** What the ledger says of the work of a run: its name, and when it began and ended. */
function listWork(events: readonly EventEnvelope[]): Times[] {
  const beganMs = Date.parse(events[0]?.at ?? '');
  return events.flatMap((event, index): Times[] => {
    const at = Date.parse(event.at);
    if (event.type === 'model.called')
      return [[`chat ${event.model}`, Math.max(beganMs, at - event.durationMs), at]];
    const next = (type: string): number =>
      Date.parse(events.slice(index).find((later) => later.type === type)?.at ?? '');
    if (event.type === 'tool.started') return [[`execute_tool ${event.tool}`, at, next('tool.ended')]];
    if (event.type === 'run.queued')
      return [['wait queue', at, next('repository.fetched') - fetchMs(events)]];
    return [];
  });
}

const fetchMs = (events: readonly EventEnvelope[]): number =>
  events.find((event) => event.type === 'repository.fetched')?.ms ?? 0;
