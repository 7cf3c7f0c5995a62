/** A sense that misbehaves, one way each, within its thread: it fails, its sibling and its next compute are served. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { containing, senseThat, serve } from './fixtures/serve-code.ts';

/** The failure of one compute; its sibling and its next compute are served. */
async function failOnce(code: string, before = '', limits = {}): Promise<unknown> {
  const { resident, expectNothingLeft } = await serve(
    senseThat(
      // In a file: what a failed compute sets in its state is undone.
      `const { existsSync, writeFileSync } = process.getBuiltinModule('node:fs');
    const mark = process.env.CAISSON_STATE + '/done';
    if (existsSync(mark)) return emit('again');
    writeFileSync(mark, ''); ${code}`,
      before,
    ),
  );
  await resident.next('ready');
  const { failure } = await resident.compute('bad', limits);
  expect((await resident.compute('fine')).signals).toEqual([{ name: 'fine', payload: null }]);
  expect((await resident.compute('bad')).signals).toEqual([{ name: 'again', payload: null }]);
  resident.process.kill();
  await resident.ended;
  expectNothingLeft();
  return failure;
}

it.each([
  ['throws', `throw new Error('broken');`, { kind: 'threw', detail: containing('broken') }],
  [
    'throws what is no error',
    `throw { toString() { throw 1; } };`,
    { kind: 'threw', detail: containing('no text') },
  ],
  [
    'rejects later',
    `Promise.reject(new Error('late')); await new Promise(() => setInterval(() => {}, 1000));`,
    { kind: 'threw', detail: containing('late') },
  ],
  ['exits', `process.exit(3);`, { kind: 'exited', detail: containing('code 3') }],
  ['aborts', `process.abort();`, { kind: 'threw', detail: containing('not supported') }],
  [
    'exhausts its heap',
    `const all = []; for (;;) all.push(new Array(1000).fill(Math.random()));`,
    { kind: 'memory', detail: 'its heap is exhausted' },
  ],
  [
    'emits what is no JSON',
    `emit('x', { n: 1n });`,
    { kind: 'invalid', detail: containing('cannot be written as JSON') },
  ],
  ['emits under no name', `emit('No Name');`, { kind: 'invalid', detail: containing('no name of a signal') }],
  [
    'emits too much',
    `emit('x', 'x'.repeat(70_000));`,
    { kind: 'invalid', detail: containing('at most 65536') },
  ],
  [
    'emits what is nested too deep',
    `emit('x', JSON.parse('['.repeat(64) + ']'.repeat(64)));`,
    { kind: 'invalid', detail: containing('nested deeper than 63 levels') },
  ],
])('a sense that %s fails, and its group goes on', async (_what, code, failure) => {
  expect(await failOnce(code)).toEqual(failure);
});

it.each([
  ['loops forever', `for (;;);`],
  ['blocks in Atomics.wait', `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`],
  ['never resolves', `await new Promise(() => setInterval(() => {}, 1000));`],
  ['loops in promises', `for (;;) await null;`],
  ['logs without end', `for (;;) log('again');`],
  ['prints without end', `for (;;) console.log('x'.repeat(1000));`],
])('a sense that %s is ended after its time and its grace', async (_what, code) => {
  expect(await failOnce(code, '', { timeoutMs: 300, graceMs: 100 })).toEqual({
    kind: 'timeout',
    detail: 'it took longer than 300 ms',
  });
});

it.each([
  '{"kind":"pinned"}',
  '{"kind":"computed"}',
  '{"kind":"logged","text":{"toString":1}}',
  '{"kind":"undelivered"}',
  '{"kind":"turned"}',
  '{"kind":"step"}',
  '{"kind":"loaded","problem":1}',
])('a sense that says %s to the main thread says nothing', async (line) => {
  const { resident } = await serve(
    senseThat(
      `parentPort.postMessage('${line}'); emit('n', n += 1);`,
      `import { parentPort } from 'node:worker_threads'; let n = 0;`,
    ),
  );
  for (const n of [1, 2])
    expect((await resident.compute('bad')).signals).toEqual([{ name: 'n', payload: n }]);
  expect((await resident.compute('fine')).signals).toEqual([{ name: 'fine', payload: null }]);
});

it('a sense that stops when its signal is aborted keeps its thread', async () => {
  const { resident } = await serve(
    senseThat(
      `n += 1; if (n > 1) return emit('n', n);
      await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)));`,
      'let n = 0;',
    ),
  );
  const { failure } = await resident.compute('bad', { timeoutMs: 100, graceMs: 5000 });
  expect(failure?.kind).toBe('timeout');
  expect((await resident.compute('bad')).signals).toEqual([{ name: 'n', payload: 2 }]);
});

it('a sense with a longer time than a timer of Node.js has that time, and that grace', async () => {
  const { resident } = await serve(
    senseThat(
      `n += 1;
       const pause = () => new Promise((resolve) => setTimeout(resolve, 300));
       if (n !== 2) { await pause(); return emit('n', n); }
       await new Promise((resolve) => signal.addEventListener('abort', resolve)); await pause();`,
      'let n = 0;',
    ),
  );
  const longMs = 25 * 86_400_000;
  const compute = (limits: object) => resident.compute('bad', limits);
  expect((await compute({ timeoutMs: longMs })).signals).toEqual([{ name: 'n', payload: 1 }]);
  expect((await compute({ timeoutMs: 100, graceMs: longMs })).failure?.kind).toBe('timeout');
  expect((await compute({ timeoutMs: longMs })).signals).toEqual([{ name: 'n', payload: 3 }]);
});

it('errors that a compute leaves behind are logged, and cost neither the next compute nor the thread', async () => {
  const { resident } = await serve(
    senseThat(
      `n += 1; emit('n', n);
       if (n > 1) return await new Promise((resolve) => setTimeout(resolve, 400));
       setTimeout(() => Promise.reject(new Error('late rejection')), 100);
       setTimeout(() => { throw new Error('late throw'); }, 150);`,
      'let n = 0;',
    ),
  );
  for (const n of [1, 2])
    expect((await resident.compute('bad')).signals).toEqual([{ name: 'n', payload: n }]);
  for (const text of ['late rejection', 'late throw'])
    expect(resident.lines).toContainEqual({ kind: 'logged', name: 'bad', text: containing(text) });
});

it('a sense whose thread ended goes on with the version that it had, whatever was saved meanwhile', async () => {
  const { resident, root } = await serve(
    senseThat(
      `if (again()) return emit('again'); writeFileSync(mark, ''); process.exit(1);`,
      `import { writeFileSync } from 'node:fs'; import { again, mark } from './helper.ts';`,
    ),
    {
      files: {
        helper: `import { existsSync } from 'node:fs'; export const mark = process.env.CAISSON_STATE + '/done';
          export const again = () => existsSync(mark); export default { compute() {} };`,
      },
    },
  );
  expect(await resident.problems()).toEqual({}); // all are loaded
  for (const name of ['bad', 'helper']) writeFileSync(join(root, 'residents', `${name}.ts`), 'no {{ program');
  expect((await resident.compute('bad')).failure).toMatchObject({ kind: 'exited' });
  expect((await resident.compute('bad')).signals).toEqual([{ name: 'again', payload: null }]);
});
