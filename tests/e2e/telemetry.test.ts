/** Spans and metrics as a receiver gets them, from the built CLI and real runs. */
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { startModelServer, type ModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
import type { WireEvent } from '@caisson/protocol';
import { metricsOf, startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';
import { createProject, finish, ROOT, until, type Project } from './project.ts';

const KEY = 'sk-test-key-0123456789';
const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** A model that has the agent run one command that works and one that fails. */
async function serveModel(): Promise<ModelServer> {
  const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const call = (command: string) => ({
    say: 'a step',
    tool: { intent: 'run-command' as const, command },
    usage,
  });
  const script = [call('echo work > made.txt'), call('false'), { say: 'done', usage }];
  const server = await startModelServer({ apiKey: KEY, script });
  onTestFinished(() => server.stop());
  return server;
}

async function openAgent(receiver: OtlpReceiver, env: Record<string, string>): Promise<Project> {
  const { url } = await serveModel();
  return createProject({
    env: { MODEL_KEY: KEY, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env },
    config: `runtime: native\nruntimes:\n  native: { endpoint: "${url}", apiKey: "env:MODEL_KEY", model: claude-sonnet-4-5 }\n`,
  });
}

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan[] {
  return spans.filter((span) => span.name === name);
}

function atMs(events: readonly WireEvent[], type: string): number {
  return Date.parse(events.find((event) => event.type === type)?.at ?? '');
}

it.each(['http/protobuf', 'http/json'])(
  'a run is one tree in a receiver of %s, with the times of the ledger',
  async (protocol) => {
    const receiver = await startOtlpReceiver();
    const project = await openAgent(receiver, {
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      TRACEPARENT: CALLER,
    });
    const { runId, cli } = await project.run('work', '--verify', 'test -f made.txt');
    expect(cli.code).toBe(0);
    const events = await project.events(runId);
    const { spans } = receiver;
    const [root] = named(spans, 'worker.execute');
    expect(spans.map(({ traceId }) => traceId)).toEqual(spans.map(() => CALLER.split('-')[1]));
    expect(root).toMatchObject({
      parentSpanId: CALLER.split('-')[2],
      startMs: atMs(events, 'dispatch.accepted'),
      endMs: atMs(events, 'dispatch.finished'),
      status: 0,
      attributes: { taskId: runId, agentId: 'native', status: 'done', filesChanged: 1, tokensUsed: 330 },
    });
    expect(root?.attributes).toMatchObject({ toolCallCount: 2, 'caisson.run.id': runId });
    expect(root?.events).toEqual([
      { name: 'sandbox.created', atMs: atMs(events, 'attempt.launched') },
      { name: 'sandbox.workerStarted', atMs: atMs(events, 'dispatch.started') },
    ]);
    const children = spans.filter((span) => span !== root);
    expect(children.map(({ parentSpanId }) => parentSpanId)).toEqual(children.map(() => root?.spanId));
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    const calls = named(spans, 'chat claude-sonnet-4-5');
    expect(calls.map(({ attributes }) => attributes)).toEqual(
      calls.map(() => ({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'claude-sonnet-4-5',
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 10,
        'gen_ai.usage.cache_read.input_tokens': 0,
        'gen_ai.usage.cache_creation.input_tokens': 0,
        'caisson.outcome': 'answered',
        'caisson.cost.usd': expect.any(Number) as number,
      })),
    );
    expect(calls).toHaveLength(3);
    const tools = children.filter(({ name }) => name.startsWith('execute_tool'));
    expect(tools.map(({ status }) => status)).toEqual([0, 2]);
    expect(children.filter(({ name }) => name.startsWith('script'))).toHaveLength(1);
    for (const { startMs, endMs } of children) {
      expect(startMs).toBeGreaterThanOrEqual(root?.startMs ?? Infinity);
      expect(endMs).toBeLessThanOrEqual(root?.endMs ?? 0);
    }
    expect(JSON.stringify(spans)).not.toContain('made.txt'); // what an agent does is not told
    expect(receiver.metrics).toHaveLength(1);
    if (protocol === 'http/json') return;
    const metrics = metricsOf(receiver.metrics[0] ?? Buffer.alloc(0));
    const names = ['caisson.runs', 'caisson.run.duration', 'caisson.tool.calls', 'caisson.runs.live'];
    expect(names.map((name) => [name, metrics.get(name)])).toEqual([
      ...[
        ['caisson.runs', [1]],
        ['caisson.run.duration', [1]],
        ['caisson.tool.calls', [1, 1]],
      ],
      ['caisson.runs.live', expect.any(Array)],
    ]);
    expect(metrics.get('caisson.tokens')?.reduce((sum, value) => sum + value, 0)).toBe(330);
    expect(metrics.get('caisson.loop.delay')?.every((value) => value >= 0 && value < 60)).toBe(true);
  },
  60_000,
);

it('spans and metrics go out in the protocol that each of them has', async () => {
  const receiver = await startOtlpReceiver();
  const project = createProject({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
  });
  expect(await project.run('--', 'true')).toMatchObject({ status: 'done' });
  expect(named(receiver.spans, 'worker.execute')).toHaveLength(1);
  const types = receiver.headers.map((headers) => headers['content-type']);
  expect(new Set(types)).toEqual(new Set(['application/json', 'application/x-protobuf']));
});

it('a trace that is not sampled is not exported', async () => {
  const receiver = await startOtlpReceiver();
  const project = createProject({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, TRACEPARENT: CALLER.replace(/01$/, '00') },
  });
  expect(await project.run('--', 'true')).toMatchObject({ status: 'done' });
  expect(receiver.spans).toEqual([]);
});

it('a receiver of the settings gets its header, and no project chooses one by itself', async () => {
  const receiver = await startOtlpReceiver();
  const config = `telemetry: { endpoint: "${receiver.url}", headers: { x-api-key: "env:RECEIVER_KEY" }, service: ours }\n`;
  const project = createProject({ config, trusts: false, env: { RECEIVER_KEY: 'a header of the receiver' } });
  const refused = await project.caisson('run', '--', 'true');
  expect(refused).toMatchObject({ code: 4 });
  expect(refused.stderr).toContain('telemetry');
  await project.trust();
  expect(await project.run('--', 'true')).toMatchObject({ status: 'done' });
  expect(named(receiver.spans, 'worker.execute')).toHaveLength(1);
  expect(receiver.headers[0]).toMatchObject({ 'x-api-key': 'a header of the receiver' });
});

it('a run ends as it would, and says so, where nobody listens', async () => {
  const project = createProject({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` },
  });
  const { status, cli } = await project.run('--', 'true');
  expect({ status, code: cli.code }).toEqual({ status: 'done', code: 0 });
  expect(cli.stderr).toContain('warning: telemetry: no receiver of spans could be reached');
});

it('a receiver that came while the run was under way has its spans', async () => {
  const port = await freePort();
  const project = createProject({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` } });
  const [begun, mayEnd] = ['begun', 'end'].map((name) => join(project.root, '..', name));
  const program = `touch ${begun}; until [ -e ${mayEnd} ]; do sleep 0.05; done`;
  const open = ['--sandbox', 'none', '--network', 'full'];
  const command = project.start('run', ...open, '--', 'sh', '-c', program);
  const ended = finish(command);
  await until('the run is under way', () => existsSync(begun ?? ''), 60_000);
  const receiver = await startOtlpReceiver('ok', port);
  writeFileSync(mayEnd ?? '', '');
  expect(await ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('telemetry') as string });
  expect(named(receiver.spans, 'worker.execute')).toHaveLength(1);
});

it('each signal that reaches nobody is reported, and the other one arrives', async () => {
  const receiver = await startOtlpReceiver();
  const away = `http://127.0.0.1:${await freePort()}/v1/metrics`;
  const project = createProject({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: away },
  });
  const { status, cli } = await project.run('--', 'true');
  expect([status, cli.stderr]).toEqual([
    'done',
    expect.stringContaining('telemetry: no receiver of metrics could be reached'),
  ]);
  expect(cli.stderr).not.toContain('no receiver of spans');
  expect(named(receiver.spans, 'worker.execute')).toHaveLength(1);
});

it('a receiver that never answers holds up a command for a moment at most', async () => {
  const receiver = await startOtlpReceiver('never');
  const project = createProject({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } });
  const command = project.start('run', '--', 'true');
  const ended = finish(command);
  await until('its spans', () => receiver.spans.length > 0);
  const sinceMs = performance.now();
  expect(await ended).toMatchObject({ code: 0 });
  expect(performance.now() - sinceMs).toBeLessThan(5000); // the exporter itself would wait for ten seconds
});

it('a header of the user goes to no receiver that a project names', async () => {
  const receiver = await startOtlpReceiver();
  const project = createProject({
    config: `telemetry: { endpoint: "${receiver.url}" }\n`,
    env: { RECEIVER_KEY: 'a header of the user' },
  });
  const userFile = join(project.env['HOME'] ?? '', '.config/caisson/config.yaml');
  mkdirSync(dirname(userFile), { recursive: true });
  const headers = '{ authorization: "env:RECEIVER_KEY" }';
  writeFileSync(userFile, `telemetry: { endpoint: "https://telemetry.example", headers: ${headers} }\n`);
  expect(await project.run('--', 'true')).toMatchObject({ status: 'done' });
  expect(receiver.spans).toHaveLength(2);
  expect(JSON.stringify(receiver.headers)).not.toContain('a header of the user');
});

it('a header that takes long to find holds up no command', async () => {
  const receiver = await startOtlpReceiver();
  const program = '#!/bin/sh\nsleep 30\n';
  const project = createProject({
    config: `telemetry: { endpoint: "${receiver.url}", headers: { x: "exec:./slow.sh" } }\n`,
  });
  project.write('slow.sh', program);
  chmodSync(join(project.root, 'slow.sh'), 0o755);
  const beganMs = performance.now();
  expect(await project.run('--', 'true')).toMatchObject({ status: 'done' });
  expect(performance.now() - beganMs).toBeLessThan(20_000);
});

it('the span of a failed run quotes neither commands nor their output', async () => {
  const receiver = await startOtlpReceiver();
  const project = createProject({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } });
  const gate = ['--verify', 'echo QUOTED; exit 1', '--verify-lens', 'gate'];
  expect((await project.run(...gate, '--', 'true')).status).toBe('error');
  const [root] = named(receiver.spans, 'worker.execute');
  expect(root).toMatchObject({ status: 2, attributes: { 'error.type': 'provider-failed' } });
  expect(Buffer.concat(receiver.bodies).toString('latin1')).not.toContain('QUOTED');
});

it('a run whose push failed and was repeated is one tree', async () => {
  const receiver = await startOtlpReceiver();
  const project = createProject({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } });
  const remote = join(project.root, '..', 'remote.git');
  project.git('clone', '-q', '--bare', project.root, remote);
  const hook = join(remote, 'hooks/pre-receive');
  writeFileSync(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const work = ['--', 'sh', '-c', 'echo work > made.txt'];
  const { runId, cli } = await project.run('--repo', remote, '--branch', 'work', '--push', ...work);
  expect(cli.code).toBe(1);
  rmSync(hook);
  expect(await project.caisson('branches', runId, '--push')).toMatchObject({ code: 0 });
  expect(named(receiver.spans, 'worker.execute')).toHaveLength(1);
}, 60_000);

it('nothing of OpenTelemetry is loaded where nothing is configured', async () => {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const copy = mkdtempSync(join(ROOT, '.cache', 'without-otel-')); // it finds the packages of the clone from there
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(ROOT, 'packages/cli'), copy, { recursive: true });
  rmSync(join(copy, 'dist/otel-export.mjs'));
  const bin = join(copy, 'bin/caisson.js');
  const { status, cli } = await createProject({ bin }).run('--', 'true');
  expect(status).toBe('done');
  expect(cli.stderr).not.toContain('telemetry');
  const asked = createProject({ bin, env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } });
  const ran = await asked.caisson('run', '--', 'true');
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stderr).toContain('telemetry is not exported');
});

it('a daemon counts its runs on a page for Prometheus', async () => {
  const project = createProject();
  expect(await project.caisson('up', '-d')).toMatchObject({ code: 0 });
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  expect(await project.run('--', 'true')).toMatchObject({ status: 'done' });
  expect((await project.run('--', 'false')).status).toBe('error');
  const page = await until('both endings on the page', async () => {
    const { stdout } = await project.caisson('status', '--metrics');
    return stdout.includes('status="error"') && stdout.includes('status="done"') ? stdout : null;
  });
  expect(page).toMatch(/^caisson_runs_total\{status="done",.*runtime="command".*\} 1$/m);
  expect(page).toMatch(/^caisson_run_duration(_seconds)?_count\{status="done"\} 1$/m);
  expect(page).toMatch(/^caisson_runs_live\{status="running"\} 0$/m);
  expect(page).toMatch(/^caisson_loop_delay(_seconds)?\{of="max"\} \d/m);
}, 60_000);

async function freePort(): Promise<number> {
  const receiver = await startOtlpReceiver();
  const port = Number(new URL(receiver.url).port);
  await new Promise((resolve) => receiver.server.close(resolve));
  await new Promise((resolve) => connect(port, '127.0.0.1').once('error', resolve));
  return port;
}
