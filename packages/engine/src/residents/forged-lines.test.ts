/** Code that writes good lines to its channel by hand: it costs its own group, with a typed end, and floods nobody. */
import type { ResidentLine, ResidentOrder } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { computeOrder, openStarter, startResident } from './fixtures/open-starter.ts';

const WRITES = `import { writeSync } from 'node:fs';
  const write = (line) => { for (;;) try { return writeSync(3, JSON.stringify(line) + '\\n'); } catch (e) { if (e.code !== 'EAGAIN') throw e; } };
  const forever = () => new Promise(() => setInterval(() => {}, 1000));`;

const turnOf = (id: string, payload: unknown): Extract<ResidentOrder, { kind: 'turn' }> => ({
  ...{ kind: 'turn', id, threadId: `thread_${id}`, round: 0, trigger: { kind: 'user' }, payload },
  ...{ messages: [], steps: [], graceMs: 100 },
});

const FLOW = `${WRITES}
  export default { route: () => 'role', roles: { async role({ payload, sleep }) {
    if (payload === 'waits') return sleep(1e9);
    for (const line of payload.lines) for (let n = 0; n < payload.times; n += 1) write(line);
    await forever();
  } } };`;

/** A thread that waits, and a second one that writes these lines. */
async function forgeTurn(lines: readonly unknown[], times = 1) {
  const { starter, plan } = await openStarter();
  const resident = await startResident(starter, plan('workflow', { flow: FLOW }));
  await resident.process.send(turnOf('sibling', 'waits'));
  await resident.next('step');
  await resident.process.send(turnOf('forger', { lines, times }));
  return { resident, stepsOf: () => resident.lines.filter((line: ResidentLine) => line.kind === 'step') };
}

it.each(['sibling', 'forger'])(
  'a role that repeats a step of the turn "%s" ends its workflow',
  async (id) => {
    const request = { kind: 'sleep', ms: 1 };
    const { resident, stepsOf } = await forgeTurn([{ kind: 'step', id, ordinal: 7, request }], 100_000);
    expect(await resident.ended).toMatchObject({
      why: 'protocol',
      detail: 'it asked for the step 7 of a turn twice',
    });
    expect(stepsOf().length).toBe(2);
  },
);

it('a role that asks for ever more steps by hand ends its workflow', async () => {
  const lines = Array.from({ length: 1100 }, (_, ordinal) => ({
    ...{ kind: 'step', id: 'forger', ordinal, request: { kind: 'sleep', ms: 1 } },
  }));
  const { resident, stepsOf } = await forgeTurn(lines);
  expect(await resident.ended).toMatchObject({ why: 'protocol' });
  expect(stepsOf().length).toBe(1 + 1024);
});

it('an answer for a sibling counts once: when the sibling answers, both end', async () => {
  const { resident } = await forgeTurn([{ kind: 'turned', id: 'sibling', outcome: { kind: 'end' } }]);
  await resident.next('turned');
  await resident.process.send({ kind: 'step-done', id: 'sibling', ordinal: 0, ok: true, value: null });
  expect(await resident.ended).toMatchObject({
    why: 'protocol',
    detail: 'it answered a turn that nobody asked for',
  });
});

it('a compute that answers for a sibling ends their group when the sibling answers', async () => {
  const { starter, plan } = await openStarter();
  const forges = `${WRITES} export default { compute({ cause }) {
    write({ kind: 'computed', id: cause.payload, durationMs: 0, signals: [{ name: 'forged', payload: 1 }] });
  } };`;
  const waits = `export default { compute: ({ signal }) => new Promise((end) => signal.addEventListener('abort', end)) };`;
  const resident = await startResident(starter, plan('senses', { forges, waits }));
  await resident.next('ready');
  const order = computeOrder('waits');
  await resident.process.send(order);
  const cause = { kind: 'signal', name: 'x', signalId: 's', payload: order.id } as const;
  await resident.process.send({ ...computeOrder('forges'), cause });
  expect((await resident.next('computed', ({ id }) => id === order.id)).signals).toMatchObject([
    { name: 'forged' },
  ]);
  await resident.process.send({ kind: 'abandon', id: order.id, why: 'enough', graceMs: 5000 });
  expect((await resident.ended).why).toBe('protocol');
});

it('a file that says that it is ready while it is loaded ends its group', async () => {
  const { starter, plan } = await openStarter();
  const early = `${WRITES} write({ kind: 'ready', modules: [{ name: 'early' }] }); export default { compute() {} };`;
  const resident = await startResident(starter, plan('senses', { early }));
  expect(await resident.ended).toMatchObject({ why: 'protocol', detail: 'it was ready already' });
});

it('a sense that says without end that it is loaded ends its group', async () => {
  const { starter, plan } = await openStarter();
  const again = `${WRITES} export default { async compute() {
    for (let n = 0; n < 100_000; n += 1) write({ kind: 'loaded', name: 'again' });
    await forever();
  } };`;
  const resident = await startResident(starter, plan('senses', { again }));
  await resident.next('ready');
  await resident.process.send(computeOrder('again'));
  expect(await resident.ended).toMatchObject({ why: 'protocol' });
  expect(resident.lines.filter(({ kind }) => kind === 'loaded')).toEqual([]);
});

it.each([70, 2800, 20_000])(
  'a line that is nested in %i levels ends its workflow, not its worker',
  async (levels) => {
    const deep = '['.repeat(levels) + ']'.repeat(levels);
    const { starter, plan } = await openStarter();
    const flow = FLOW.replace('await forever();', `writeSync(3, payload.text + '\\n'); await forever();`);
    const resident = await startResident(starter, plan('workflow', { flow }));
    const request = `{"kind":"dispatch","waits":true,"request":{"task":"x","deep":${deep}}}`;
    const text = `{"kind":"step","id":"forger","ordinal":0,"request":${request}}`;
    await resident.process.send(turnOf('forger', { lines: [], times: 0, text }));
    expect(await resident.ended).toMatchObject({
      why: 'protocol',
      detail: expect.stringContaining('nested deeper than 66 levels') as unknown,
    });
  },
);
