/** Turns of a workflow: the router, roles, steps and their replay. */
import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeStep, type RecordedStep, type ResidentLine, type StepRequest } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { openStarter, startResident, type Resident } from './fixtures/open-starter.ts';

const FLOW = `
  import { existsSync } from 'node:fs';
  import { defineWorkflow } from 'caisson';
  export default defineWorkflow<{ first: string }>({
    route: ({ payload, messages }) => (messages.length === 0 ? payload.first : messages.length === 1 ? 'report' : null),
    roles: {
      async fix({ dispatch, step, log }) {
        const at = await step('at', () => 7);
        log('before');
        const run = await dispatch({ task: 'fix it ' + at });
        log('after');
        return { status: run.status };
      },
      report: ({ messages }) => 'was ' + messages[0].content.status,
      throws() { throw new Error('broken role'); },
      async fails({ sleep }) { await sleep(5); },
      loops() { for (;;); },
      big: () => 'x'.repeat(70_000),
      exits() { process.exit(1); },
      async waits({ sleep }) { await sleep(1e9); },
      async polls({ step, sleep }) {
        const poll = step('poll', async () => {
          while (!existsSync(process.env.CAISSON_STATE + '/news')) await new Promise((end) => setTimeout(end, 20));
          return 'polled';
        });
        return Promise.race([sleep(1e9), poll]);
      },
      async breaks({ step }) { await step('breaks', () => { throw new Error('own error'); }); },
      async misuses({ ask }) { await ask({ question: 'ok?' }); },
    },
  });`;

let turns = 0;

function turnOrder(first: string, more: object = {}) {
  turns += 1;
  return {
    kind: 'turn' as const,
    id: `t${turns}`,
    threadId: 'thread_a',
    round: 0,
    trigger: { kind: 'user' as const },
    payload: { first },
    messages: [],
    steps: [],
    graceMs: 100,
    ...more,
  };
}

async function open(times: Parameters<typeof openStarter>[0] = {}): Promise<Resident & { state: string }> {
  const { starter, plan, root } = await openStarter(times);
  const resident = await startResident(starter, plan('workflow', { flow: FLOW }));
  expect((await resident.next('ready')).modules).toEqual([{ name: 'flow' }]);
  return { ...resident, state: join(root, '.caisson/residents/workflow.flow/state') };
}

const outcomeOf = async (resident: Resident, id: string): Promise<unknown> =>
  (await resident.next('turned', (line) => line.id === id)).outcome;

const stepOf = (resident: Resident, id: string, ordinal: number) =>
  resident.next('step', (line) => line.id === id && line.ordinal === ordinal);

const workedOf = (resident: Resident, id: string, ordinal: number) =>
  resident.next('worked', (line) => line.id === id && line.ordinal === ordinal);

const record = (ordinal: number, request: StepRequest, value?: unknown): RecordedStep => ({
  ordinal,
  kind: request.kind,
  digest: createHash('sha256').update(describeStep(request)).digest('hex'),
  ...(value === undefined ? {} : { outcome: { ok: true, value } }),
});

const DISPATCH: StepRequest = { kind: 'dispatch', request: { task: 'fix it 7' }, waits: true };

it('as many turns as have a place at once fit into the memory of their sandbox', async () => {
  const { starter, plan } = await openStarter();
  const limits = { memory: 224 * 1024 ** 2, pids: 128, disk: 256 * 1024 ** 2 };
  const resident = await startResident(starter, plan('workflow', { flow: FLOW }, { limits }));
  const orders = Array.from({ length: 32 }, () => turnOrder('waits'));
  for (const order of orders) await resident.process.send(order);
  const fit = (limits.memory - 96 * 1024 ** 2) / (16 * 1024 ** 2);
  await Promise.all(orders.slice(0, fit).map(({ id }) => stepOf(resident, id, 0)));
  for (const { id } of orders)
    await resident.process.send({ kind: 'abandon', id, why: 'over', graceMs: 100 });
  for (const { id } of orders)
    expect(await outcomeOf(resident, id)).toMatchObject({ kind: 'failed', failure: { kind: 'aborted' } });
});

it('a role asks for steps, gets their outcomes, and makes its message', async () => {
  const resident = await open();
  const order = turnOrder('fix');
  await resident.process.send(order);
  expect((await stepOf(resident, order.id, 0)).request).toEqual({ kind: 'value', name: 'at' });
  expect(await workedOf(resident, order.id, 0)).toMatchObject({ ok: true, value: 7 });
  await resident.process.send({ kind: 'step-done', id: order.id, ordinal: 0, ok: true, value: 7 });
  expect((await stepOf(resident, order.id, 1)).request).toEqual(DISPATCH);
  await resident.process.send({
    kind: 'step-done',
    id: order.id,
    ordinal: 1,
    ok: true,
    value: { status: 'succeeded' },
  });
  const message = { kind: 'message', role: 'fix', content: { status: 'succeeded' } };
  expect(await outcomeOf(resident, order.id)).toEqual(message);
  const messages = [{ round: 0, role: 'fix', content: message.content }];
  const next = turnOrder('fix', { round: 1, messages });
  await resident.process.send(next);
  expect(await outcomeOf(resident, next.id)).toEqual({
    kind: 'message',
    role: 'report',
    content: 'was succeeded',
  });
  const last = turnOrder('fix', { round: 2, messages: [...messages, ...messages] });
  await resident.process.send(last);
  expect(await outcomeOf(resident, last.id)).toEqual({ kind: 'end' });
});

it('recorded outcomes are replayed in silence; a step without one is asked for again', async () => {
  const resident = await open();
  const value = record(0, { kind: 'value', name: 'at' }, 7);
  const replayed = turnOrder('fix', { steps: [value, record(1, DISPATCH, { status: 'failed' })] });
  await resident.process.send(replayed);
  expect(await outcomeOf(resident, replayed.id)).toMatchObject({
    kind: 'message',
    content: { status: 'failed' },
  });
  const texts = (lines: readonly ResidentLine[]) =>
    lines.flatMap((line) => (line.kind === 'logged' ? [line.text] : []));
  expect(texts(resident.lines)).toEqual(['after']);
  expect(resident.lines.filter(({ kind }) => kind === 'step')).toEqual([]);
  const open1 = turnOrder('fix', { steps: [value, record(1, DISPATCH)] });
  await resident.process.send(open1);
  expect((await stepOf(resident, open1.id, 1)).request).toEqual(DISPATCH);
});

it('a role that is repeated goes on with the step that was over first, whatever has ended since', async () => {
  const { starter, plan } = await openStarter();
  const flow = `export default { route: () => 'role', roles: { async role({ ask, sleep, dispatch }) {
    const first = await Promise.race([ask('ok?'), sleep(5).then(() => 'slept')]);
    await dispatch({ task: first });
    return first;
  } } };`;
  const resident = await startResident(starter, plan('workflow', { flow }));
  const over = (value: unknown, place: number, asked: number) => ({
    outcome: { ok: true, value, place, asked },
  });
  const dispatch: StepRequest = { kind: 'dispatch', request: { task: 'slept' }, waits: true };
  const steps = [
    { ...record(0, { kind: 'ask', question: 'ok?' }), ...over('yes', 1, 3) },
    { ...record(1, { kind: 'sleep', ms: 5 }), ...over(null, 0, 2) },
    { ...record(2, dispatch), ...over({ status: 'done' }, 2, 3) },
  ];
  const order = { ...turnOrder(''), steps };
  await resident.process.send(order);
  expect(await outcomeOf(resident, order.id)).toEqual({ kind: 'message', role: 'role', content: 'slept' });
});

it('a role that asks for something else than is recorded has changed', async () => {
  const resident = await open();
  const order = turnOrder('fix', { steps: [record(0, { kind: 'sleep', ms: 5 }, null)] });
  await resident.process.send(order);
  expect(await outcomeOf(resident, order.id)).toMatchObject({
    kind: 'failed',
    role: 'fix',
    failure: { kind: 'changed' },
  });
});

it.each([
  ['throws', 'threw', 'broken role'],
  ['big', 'invalid', 'at most 65536'],
  ['exits', 'exited', 'code 1'],
  ['nobody', 'invalid', 'none of its roles'],
])('the role %s fails as %s', async (role, kind, detail) => {
  const resident = await open();
  const order = turnOrder(role);
  await resident.process.send(order);
  expect(await outcomeOf(resident, order.id)).toMatchObject({
    kind: 'failed',
    failure: { kind, detail: expect.stringContaining(detail) },
  });
});

it('the error of a step is thrown in the role', async () => {
  const resident = await open();
  const order = turnOrder('fails');
  await resident.process.send(order);
  await stepOf(resident, order.id, 0);
  await resident.process.send({
    kind: 'step-done',
    id: order.id,
    ordinal: 0,
    ok: false,
    value: { message: 'no' },
  });
  expect(await outcomeOf(resident, order.id)).toMatchObject({
    failure: { kind: 'threw', detail: expect.stringContaining('no') },
  });
});

it('the error of its own work is that of its step, once the host has recorded it', async () => {
  const resident = await open();
  const order = turnOrder('breaks');
  await resident.process.send(order);
  const { ok, value } = await workedOf(resident, order.id, 0);
  expect([ok, value]).toEqual([false, 'own error']);
  await resident.process.send({ kind: 'step-done', id: order.id, ordinal: 0, ok, value });
  expect(await outcomeOf(resident, order.id)).toMatchObject({
    failure: { kind: 'threw', detail: expect.stringContaining('own error') },
  });
});

it('a call that the host would not take fails its role at once, with what it needs', async () => {
  const { starter, plan } = await openStarter();
  const calls = {
    shape: `ask({ question: 'ok?' })`,
    question: `ask('x'.repeat(16_385))`,
    options: `ask('which?', { options: Array.from({ length: 65 }, String) })`,
    option: `ask('which?', { options: ['x'.repeat(1025)] })`,
    word: `ask('which?', { options: [1] })`,
    past: `ask('which?', { deadlineMs: -1 })`,
    never: `ask('which?', { deadlineMs: NaN })`,
    sleep: `sleep(Infinity)`,
    runs: `wait(Array.from({ length: 65 }, String))`,
    nothing: `wait([])`,
    step: `step('x'.repeat(129), () => 1)`,
    unnamed: `step('', () => 1)`,
    ['r'.repeat(129)]: '1',
  };
  const roles = Object.entries(calls).map(
    ([name, call]) => `${name}: ({ ask, sleep, wait, step }) => ${call}`,
  );
  const flow = `export default { route: ({ payload }) => payload, roles: { ${roles.join(', ')} } };`;
  const resident = await startResident(starter, plan('workflow', { flow }));
  const found: Record<string, string> = {};
  for (const payload of Object.keys(calls)) {
    const order = { ...turnOrder(''), payload };
    await resident.process.send(order);
    const { outcome } = await resident.next('turned', ({ id }) => id === order.id);
    if (outcome.kind === 'failed' && outcome.failure.kind === 'invalid')
      found[payload] =
        /needs (a text as its question|a number of|a list of|a name)|of a role/.exec(
          outcome.failure.detail,
        )?.[0] ?? '';
  }
  const ask = 'needs a text as its question';
  const wait = 'needs a list of';
  expect(found).toEqual({
    ...{ shape: ask, question: ask, options: ask, option: ask, word: ask, past: ask, never: ask },
    ...{
      sleep: 'needs a number of',
      runs: wait,
      nothing: wait,
      step: 'needs a name',
      unnamed: 'needs a name',
    },
    ['r'.repeat(129)]: 'of a role',
  });
  expect(resident.lines.filter(({ kind }) => kind === 'step')).toEqual([]);
}, 20_000);

it('a turn that is given up is ended, also in a loop, and the others go on', async () => {
  const resident = await open();
  const [loop, wait] = [turnOrder('loops'), turnOrder('fails')];
  await resident.process.send(loop);
  await resident.process.send(wait);
  await stepOf(resident, wait.id, 0);
  await resident.process.send({ kind: 'abandon', id: loop.id, why: 'cancelled', graceMs: 100 });
  expect(await outcomeOf(resident, loop.id)).toEqual({
    kind: 'failed',
    role: 'loops',
    failure: { kind: 'aborted', detail: 'cancelled' },
  });
  await resident.process.send({ kind: 'step-done', id: wait.id, ordinal: 0, ok: true, value: null });
  expect(await outcomeOf(resident, wait.id)).toMatchObject({ kind: 'message', role: 'fails' });
});

it('a role that waits for a step fails at once when its turn is given up, and asks for nothing more', async () => {
  const { starter, plan } = await openStarter();
  const flow = `export default { route: () => 'role', roles: { async role({ payload, sleep, step, log, signal }) {
    if (payload === 'quiet') return sleep(1e9);
    try { await sleep(1e9); }
    catch (error) {
      log('caught', error.message, signal.aborted);
      await step('more', () => 1).catch((again) => log('refused', again.message));
    }
    return 'ignored';
  } } };`;
  const resident = await startResident(starter, plan('workflow', { flow }));
  for (const payload of ['catches', 'quiet']) {
    const order = { ...turnOrder(''), payload };
    await resident.process.send(order);
    await stepOf(resident, order.id, 0);
    await resident.process.send({ kind: 'abandon', id: order.id, why: 'cancelled', graceMs: 600_000 });
    const failure = { kind: 'aborted', detail: 'cancelled' };
    expect(await outcomeOf(resident, order.id)).toEqual({ kind: 'failed', role: 'role', failure });
  }
  const said = resident.lines.flatMap((line) => (line.kind === 'logged' ? [line.text] : []));
  expect(said).toEqual(['caught cancelled true', 'refused cancelled']);
  expect(resident.lines.filter(({ kind }) => kind === 'step').length).toBe(2);
});

it('a turn that is given up without a grace is not told', async () => {
  const { starter, plan } = await openStarter();
  const flow = `export default { route: () => 'role', roles: { role: ({ sleep, log, signal }) => {
    signal.addEventListener('abort', () => log('told'));
    return sleep(1e9).catch(() => log('told'));
  } } };`;
  const resident = await startResident(starter, plan('workflow', { flow }));
  const order = turnOrder('');
  await resident.process.send(order);
  await stepOf(resident, order.id, 0);
  await resident.process.send({ kind: 'abandon', id: order.id, why: 'parked', graceMs: 0 });
  expect(await outcomeOf(resident, order.id)).toMatchObject({
    failure: { kind: 'aborted', detail: 'parked' },
  });
  expect(resident.lines.filter(({ kind }) => kind === 'logged')).toEqual([]);
});

const PIDS = { memory: 512 * 1024 ** 2, pids: 64, disk: 256 * 1024 ** 2 };

it('a guest has no more turns at the same time than its limits allow; the others wait for a place', async () => {
  const { starter, plan } = await openStarter();
  const resident = await startResident(starter, plan('workflow', { flow: FLOW }, { limits: PIDS }));
  const orders = Array.from({ length: 19 }, () => turnOrder('waits'));
  for (const order of orders) await resident.process.send(order);
  const [first, , , ...rest] = orders;
  const late = rest.slice(-3);
  for (const order of orders.slice(0, 16)) await stepOf(resident, order.id, 0);
  const end = async (id: string): Promise<unknown> => {
    await resident.process.send({ kind: 'abandon', id, why: 'enough', graceMs: 100 });
    return outcomeOf(resident, id);
  };
  const aborted = { kind: 'failed', failure: { kind: 'aborted', detail: 'enough' } };
  expect(await end(late[0]?.id ?? '')).toEqual(aborted);
  expect(resident.lines.filter(({ kind }) => kind === 'step').length).toBe(16);
  expect(await end(first?.id ?? '')).toEqual({ ...aborted, role: 'waits' });
  await stepOf(resident, late[1]?.id ?? '', 0);
}, 30_000);

it('a turn for which no thread can be started waits until another one is over', async () => {
  const { starter, plan } = await openStarter();
  const flow = `import { spawn } from 'node:child_process';
  export default { route: () => 'role', roles: { async role({ payload, step }) {
    if (payload !== 'hogs') return 'made';
    const begun = [];
    for (let isFull = false; !isFull; ) {
      const child = spawn('sleep', ['600'], { stdio: 'ignore' });
      isFull = await new Promise((resolve) => { child.once('spawn', () => resolve(false)); child.once('error', () => resolve(true)); });
      if (!isFull) begun.push(child);
    }
    await step('full', () => begun.length);
    await Promise.all(begun.map((child) => new Promise((end) => { child.once('exit', end); child.kill('SIGKILL'); })));
    return 'hogged';
  } } };`;
  const resident = await startResident(starter, plan('workflow', { flow }, { limits: PIDS }));
  const hogs = { ...turnOrder(''), payload: 'hogs' };
  await resident.process.send(hogs);
  await stepOf(resident, hogs.id, 0);
  const other = { ...turnOrder(''), payload: 'other' };
  await resident.process.send(other);
  await resident.process.send({ kind: 'step-done', id: hogs.id, ordinal: 0, ok: true, value: 1 });
  expect(await outcomeOf(resident, hogs.id)).toMatchObject({ content: 'hogged' });
  expect(await outcomeOf(resident, other.id)).toMatchObject({ content: 'made' });
}, 30_000);

it('a turn whose file does not load any more has crashed: its role has not begun', async () => {
  const { starter, plan } = await openStarter();
  const flow = `import { existsSync, writeFileSync } from 'node:fs';
    const mark = process.env.CAISSON_STATE + '/mark';
    if (existsSync(mark)) throw new Error('not now');
    export default { route: () => 'role', roles: { role: () => writeFileSync(mark, '') } };`;
  const resident = await startResident(starter, plan('workflow', { flow }));
  for (const order of [turnOrder(''), turnOrder('')]) await resident.process.send(order);
  const outcomes = [await outcomeOf(resident, `t${turns - 1}`), await outcomeOf(resident, `t${turns}`)];
  expect(outcomes).toContainEqual({ kind: 'message', role: 'role', content: null });
  const again = turnOrder('');
  await resident.process.send(again);
  const detail = expect.stringContaining('not now') as unknown;
  expect(await outcomeOf(resident, again.id)).toEqual({
    kind: 'failed',
    failure: { kind: 'crashed', detail },
  });
});

it('a guest in which no thread can be started any more ends, with what an earlier turn left in it', async () => {
  const { starter, plan } = await openStarter();
  // Takes each place that a thread leaves.
  const fill = `const { spawn } = require('node:child_process');
    setInterval(() => spawn('sleep', ['600']).on('error', () => {}), 5);`;
  const flow = `import { spawn } from 'node:child_process';
  export default { route: () => 'role', roles: { async role({ payload }) {
    if (payload !== 'fills') return;
    spawn(process.execPath, ['-e', ${JSON.stringify(fill)}], { stdio: 'ignore', detached: true }).unref();
    for (let isFull = false; !isFull; )
      isFull = await new Promise((resolve) =>
        spawn('sleep', ['0.1']).once('exit', () => resolve(false)).once('error', () => resolve(true)));
  } } };`;
  const resident = await startResident(starter, plan('workflow', { flow }, { limits: PIDS }));
  for (let payload: string | null = 'fills'; ; payload = null) {
    const order = { ...turnOrder(''), payload };
    if (!(await resident.process.send(order))) break;
    if (await outcomeOf(resident, order.id).then(isFailed, () => true)) break;
  }
  expect((await resident.ended).stderrTail).toContain('no thread can be started for a turn');
  expect(resident.lines.filter((line) => line.kind === 'turned' && isFailed(line.outcome))).toEqual([]);
}, 30_000);

const isFailed = (outcome: unknown): boolean => (outcome as { kind: string }).kind === 'failed';

it('stop waits for turns that do something, up to the grace, and not for one that waits for a step', async () => {
  const waiting = await open();
  const wait = turnOrder('waits');
  await waiting.process.send(wait);
  await stepOf(waiting, wait.id, 0);
  await waiting.process.send({ kind: 'stop', graceMs: 60_000 });
  expect((await waiting.ended).why).toBe('stopped');
  const polling = await open();
  const poll = turnOrder('polls');
  await polling.process.send(poll);
  await stepOf(polling, poll.id, 1);
  await polling.process.send({ kind: 'stop', graceMs: 60_000 });
  writeFileSync(join(polling.state, 'news'), '');
  expect(await workedOf(polling, poll.id, 0)).toMatchObject({ ok: true, value: 'polled' });
  expect((await polling.ended).why).toBe('stopped');
  const busy = await open();
  await busy.process.send(turnOrder('loops'));
  await busy.process.send({ kind: 'stop', graceMs: 300 });
  expect((await busy.ended).why).toBe('stopped');
});

it('a role that loops without end is ended when it has been silent for too long; one that waits is not', async () => {
  const resident = await open({ unresponsiveMs: 500 });
  const [loop, wait] = [turnOrder('loops'), turnOrder('waits')];
  await resident.process.send(wait);
  await stepOf(resident, wait.id, 0);
  await resident.process.send(loop);
  expect(await outcomeOf(resident, loop.id)).toEqual({
    kind: 'failed',
    role: 'loops',
    failure: { kind: 'timeout', detail: 'its code did not give its thread back for 1500 ms' },
  });
  await resident.process.send({ kind: 'step-done', id: wait.id, ordinal: 0, ok: true, value: null });
  expect(await outcomeOf(resident, wait.id)).toEqual({ kind: 'message', role: 'waits', content: null });
});

it('a file that is saved broken, or removed, changes nothing of a worker that is at work', async () => {
  const { starter, plan, root } = await openStarter();
  const parts = {
    say: `export const say = (round: number): string => 'round ' + round;`,
    data: '{ "n": 7 }',
  };
  const { modules, ...all } = plan('workflow', {
    flow: `import { say } from './say.ts'; import data from './data.json' with { type: 'json' };
      export default { route: ({ messages }) => (messages.length < 4 ? 'go' : null),
        roles: { go: async ({ round }) => say(round) + ' of ' + data.n + (await import('./late.cjs')).default } };`,
    ...parts,
  });
  const write = (name: string, text: string): void => writeFileSync(join(root, 'residents', name), text);
  write('data.json', parts.data);
  write('late.cjs', `module.exports = require('./later.cjs');`);
  write('later.cjs', `module.exports = '!';`);
  const resident = await startResident(starter, { ...all, modules: modules.slice(0, 1) });
  await resident.next('ready');
  const messages: { round: number; role: string; content: unknown }[] = [];
  for (const round of [0, 1, 2, 3]) {
    const order = turnOrder('go', { round, messages: [...messages] });
    await resident.process.send(order);
    const content = `round ${round} of 7!`;
    expect(await outcomeOf(resident, order.id)).toEqual({ kind: 'message', role: 'go', content });
    messages.push({ round, role: 'go', content });
    for (const name of ['flow.ts', 'data.json', 'late.cjs']) write(name, 'this is {{ no program');
    for (const name of ['say.ts', 'later.cjs']) rmSync(join(root, 'residents', name), { force: true });
  }
});
