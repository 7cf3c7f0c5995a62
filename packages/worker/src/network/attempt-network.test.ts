import { mkdtempSync, rmSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock, type ManualClock } from '@caisson/ground';
import { WORKER_LINES, type NetworkPlan, type ObservedUsage, type WorkerSaying } from '@caisson/protocol';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { openAttemptNetwork, type AttemptNetwork } from './attempt-network.ts';
import { askThrough, cleanUp, startOrigin, type Reply } from './network-fixture.ts';

const KEY = 'sk-ant-real-Zq81xP0vTn55LmRw7YbKc2';
const SERVICE_KEY = 'glpat-9fK2mQ7xV1';
const SECRET = 'hunter2-and-more';

interface Opened {
  readonly network: AttemptNetwork;
  readonly clock: ManualClock;
  readonly lines: WorkerSaying[];
  usages(): ObservedUsage[];
  ask(body?: string): Promise<Reply>;
}

async function open(plan: Partial<NetworkPlan> = {}): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'attempt-network-'));
  const clock = createManualClock();
  const lines: WorkerSaying[] = [];
  const network = await openAttemptNetwork(
    { socket: join(folder, 'n.sock'), hosts: [], model: null, services: [], onLoopback: false, ...plan },
    { clock, secrets: [{ name: 'S', value: SECRET }], write: (line) => void lines.push(line) },
  );
  onTestFinished(async () => {
    await network.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const headers = { 'x-api-key': network.model?.placeholder ?? '', 'content-type': 'application/json' };
  const path = `${network.model?.pathPrefix ?? ''}/v1/messages`;
  return {
    network,
    clock,
    lines,
    usages: () => lines.flatMap((line) => (line.kind === 'model.usage' ? [line.usage] : [])),
    ask: (body = '{"model":"m"}') => askThrough(network.socket, path, { method: 'POST', headers, body }),
  };
}

async function openModel(listener: RequestListener): Promise<Opened> {
  const endpoint = `http://127.0.0.1:${await startOrigin(listener)}`;
  return open({ model: { endpoint, api: 'anthropic-messages', apiKey: KEY } });
}

function answer(response: ServerResponse, model = 'm'): void {
  const usage = { input_tokens: 7, output_tokens: 2 };
  const content = [{ type: 'text', text: 'hi' }];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ type: 'message', model, content, usage, stop_reason: 'end_turn' }));
}

const ofModel = ({ kind }: WorkerSaying): boolean => kind.startsWith('model.');

afterEach(cleanUp);

test('a call is reported when it begins, is answered and ends, and before the usage that counts it', async () => {
  const { lines, usages, ask } = await openModel((_request, response) => answer(response));
  await ask();
  await expect.poll(() => usages().at(-1)?.underWay).toBe(0);
  expect(lines.filter(ofModel)).toMatchObject([
    { kind: 'model.usage', usage: { answers: 0, underWay: 1, byModel: [] } },
    { kind: 'model.usage', usage: { answers: 1, underWay: 1, pending: [{ model: 'm' }] } },
    {
      kind: 'model.called',
      model: 'm',
      tokens: { input: 7, output: 2, cacheRead: 0, cacheWrite: 0 },
      outcome: 'answered',
    },
    {
      kind: 'model.usage',
      usage: { underWay: 0, isWhole: true, byModel: [{ model: 'm', inputTokens: 7, outputTokens: 2 }] },
    },
  ]);
  const numbered = lines.map((line, index) => ({ ...line, seq: index + 1, at: '2026-01-01T00:00:00.000Z' }));
  for (const line of numbered) expect(WORKER_LINES[line.kind].parse(line)).toEqual(line);
});

test('what grows while an answer comes is reported every 250 ms, and nothing while it does not', async () => {
  let streaming: ServerResponse | undefined;
  const { network, clock, usages, ask } = await openModel((_request, response) => {
    streaming = response;
    response.setHeader('content-type', 'text/event-stream');
    const usage = { input_tokens: 7, output_tokens: 1 };
    const event = { type: 'message_start', message: { model: 'm', usage } };
    response.write(`event: message_start\ndata: ${JSON.stringify(event)}\n\n`);
  });
  const asked = ask();
  await expect.poll(() => network.usage?.read().byModel).toMatchObject([{ inputTokens: 7 }]);
  clock.advance(249);
  expect(usages().map(({ byModel }) => byModel)).toEqual([[], []]);
  clock.advance(1);
  expect(usages().at(-1)?.byModel).toMatchObject([{ inputTokens: 7 }]);
  clock.advance(10_000);
  expect(usages()).toHaveLength(3);
  streaming?.end();
  await asked;
});

test('the last usage is written before the network is closed, with what was cut off, and nothing after it', async () => {
  const { network, clock, lines, usages, ask } = await openModel(() => undefined); // never answers
  const cut = ask(`{"model":"m","messages":"${'word '.repeat(100)}"}`).catch(() => undefined);
  await expect.poll(() => network.usage?.read().pending).toMatchObject([{ model: 'm' }]);
  clock.advance(250);
  const [charged] = usages().at(-1)?.pending ?? [];
  expect(charged?.inputTokens).toBeGreaterThan(100);
  const before = lines.length;
  const closing = network.close();
  const written = lines.slice(before).filter(ofModel);
  expect(written.map(({ kind }) => kind)).toEqual(['model.called', 'model.usage', 'model.usage']);
  expect(written[0]).toMatchObject({ outcome: 'left', isEstimate: true });
  const { model: _model, ...tokens } = charged ?? {};
  expect(written.at(-1)).toMatchObject({
    usage: { underWay: 0, pending: [], estimated: { answers: 1, ...tokens } },
  });
  const count = lines.length;
  await Promise.all([closing, cut, network.close()]);
  network.reportUsage();
  expect(lines).toHaveLength(count);
});

test('a model that is asked nothing has its last usage, too, and one that is not there has none', async () => {
  const { network, lines } = await openModel(() => undefined);
  await network.close();
  expect(lines).toMatchObject([{ kind: 'model.usage', usage: { answers: 0, underWay: 0 } }]);
  const without = await open({ hosts: ['a.example:443'] });
  without.network.reportUsage();
  await without.network.close();
  expect(without.lines).toEqual([]);
});

test('for how long a model is not reached is reported with each beat, though nothing else changes', async () => {
  const model = { endpoint: 'http://127.0.0.1:9', api: 'anthropic-messages', apiKey: KEY } as const;
  const { network, clock, usages, ask } = await open({ model });
  for (let times = 0; times < 3; times += 1) await ask();
  await expect.poll(() => network.usage?.read().failedInRow).toBe(3);
  for (let beats = 0; beats < 2; beats += 1) {
    clock.advance(10_000);
    network.reportUsage();
  }
  const { cause, detail } = usages().at(-1)?.lastFailure ?? {};
  expect([cause, detail]).toEqual(['no-connection', expect.stringContaining('could not be reached')]);
  expect(
    usages()
      .slice(-2)
      .map(({ unreachedMs }) => unreachedMs),
  ).toEqual([10_000, 20_000]);
});

test('a denied connection is a denial, once for each target and reason, and 64 times at most', async () => {
  const { network, lines } = await open({ hosts: ['a.example:443'] });
  const visit = (host: string) => askThrough(network.socket, `http://${host}/`);
  for (const host of ['b.example', 'b.example']) await visit(host);
  const denial = { layer: 'network', actionClass: 'network', rule: 'network.hosts' };
  expect(lines).toMatchObject([
    { kind: 'network.connection', target: 'b.example:80', verdict: 'denied' },
    { kind: 'policy.denied', denial: { ...denial, what: 'connection to b.example:80: not granted' } },
    { kind: 'network.connection', target: 'b.example:80', verdict: 'denied' },
  ]);
  for (let number = 0; number < 80; number += 1) await visit(`h${number}.example`);
  expect(lines.filter(({ kind }) => kind === 'policy.denied')).toHaveLength(64);
  expect(lines.filter(({ kind }) => kind === 'network.connection')).toHaveLength(82);
});

test('no key and no secret is in a line, wherever a server or an agent puts it', async () => {
  const port = await startOrigin((_request, response) => answer(response, `model-${KEY}-${SERVICE_KEY}`));
  const endpoint = `http://127.0.0.1:${port}`;
  const { network, lines, ask } = await open({
    hosts: ['a.example:443'],
    model: { endpoint, api: 'anthropic-messages', apiKey: KEY },
    services: [{ name: 'code-host', endpoint, apiKey: SERVICE_KEY }],
  });
  await ask();
  for (const secret of [KEY, SERVICE_KEY, SECRET]) {
    await askThrough(network.socket, `http://${secret}.example/`);
    await ask(`{"model":"${secret}"}`);
  }
  await network.close();
  expect(lines.length).toBeGreaterThan(10);
  const text = JSON.stringify(lines).toLowerCase();
  for (const secret of [KEY, SERVICE_KEY, SECRET]) expect(text).not.toContain(secret.toLowerCase());
});

test('a socket that cannot be opened is an error that names it', async () => {
  await expect(open({ socket: '/nowhere/net/n.sock' })).rejects.toMatchObject({
    code: 'NETWORK_OPEN_FAILED',
    message: expect.stringContaining('/nowhere/net/n.sock') as string,
  });
});
