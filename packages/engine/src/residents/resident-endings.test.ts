/** Code that takes its whole process down, or tries to: a typed end each time, and nothing is left. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findByMarker, MARKER_NAME, measureTree } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { computeOrder } from './fixtures/open-starter.ts';
import { containing, senseThat, serve } from './fixtures/serve-code.ts';

it('a sense in a system call that does not return takes its process down, after its own failure is reported', async () => {
  const { resident, expectNothingLeft } = await serve(
    senseThat(`execFileSync('sleep', ['600']);`, `import { execFileSync } from 'node:child_process';`),
  );
  await resident.next('ready');
  const { failure } = await resident.compute('bad', { timeoutMs: 200, graceMs: 100 });
  expect(failure?.kind).toBe('timeout');
  expect(await resident.ended).toEqual({
    why: 'signal',
    detail: 'it was ended by SIGKILL',
    stderrTail: containing('bad could not be stopped'),
  });
  expectNothingLeft();
});

it('a process that the code started and detached ends with the resident', async () => {
  const { resident, expectNothingLeft } = await serve(
    senseThat(
      `spawn('sh', ['-c', 'setsid sleep 600 & setsid sleep 600'], { detached: true, stdio: 'ignore' }).unref();`,
      `import { spawn } from 'node:child_process';`,
    ),
  );
  expect((await resident.compute('bad')).failure).toBeUndefined();
  expect(findByMarker(MARKER_NAME, resident.process.resident).length).toBeGreaterThan(0);
  await resident.process.send({ kind: 'stop', graceMs: 0 });
  expect((await resident.ended).why).toBe('stopped');
  expectNothingLeft();
});

it.each([
  ['garbage', `writeSync(3, 'garbage\\n');`],
  ['a line without end', `for (;;) writeSync(3, 'x'.repeat(65536));`],
  [
    'an answer that nobody asked for',
    `writeSync(3, JSON.stringify({ kind: 'computed', id: 'c0', durationMs: 0, signals: [] }) + '\\n');`,
  ],
  ['a line of an unknown kind', `writeSync(3, '{"kind":"unknown"}\\n');`],
  [
    'signals of no compute without end',
    `const line = JSON.stringify({ kind: 'undelivered', name: 'bad', computeId: 'c', origin: '', signals: [] }) + '\\n';
    const until = Date.now() + 20_000;
    while (Date.now() < until) { try { writeSync(3, line); } catch (e) { if (e.code !== 'EAGAIN') throw e; } }`,
  ],
  [
    'signals of another key',
    `writeSync(3, JSON.stringify({ kind: 'undelivered', name: 'x', computeId: 'c', origin: '', signals: [] }) + '\\n');`,
  ],
  [
    'that it is ready again',
    `writeSync(3, JSON.stringify({ kind: 'ready', modules: [{ name: 'bad' }] }) + '\\n');`,
  ],
])('code that writes %s to the channel by hand ends its resident', async (_what, code) => {
  const { resident, expectNothingLeft } = await serve(
    senseThat(
      `try { ${code} } catch (e) { if (e.code !== 'EAGAIN') throw e; } await new Promise(() => setInterval(() => {}, 1000));`,
      `import { writeSync } from 'node:fs';`,
    ),
  );
  await resident.next('ready');
  await resident.process.send(computeOrder('bad'));
  expect((await resident.ended).why).toBe('protocol');
  expectNothingLeft();
});

it('code that stops its own process is found by its silence', async () => {
  const { resident, expectNothingLeft } = await serve(senseThat(`process.kill(process.pid, 'SIGSTOP');`), {
    times: { unresponsiveMs: 500 },
  });
  await resident.next('ready');
  await resident.process.send(computeOrder('bad'));
  expect(await resident.ended).toMatchObject({ why: 'unresponsive' });
  expectNothingLeft();
});

it('code that kills its own process ends as a signal', async () => {
  const { resident, expectNothingLeft } = await serve(senseThat(`process.kill(process.pid, 'SIGKILL');`));
  await resident.next('ready');
  await resident.process.send(computeOrder('bad'));
  expect(await resident.ended).toMatchObject({ why: 'signal', detail: 'it was ended by SIGKILL' });
  expectNothingLeft();
});

it('code that stops its process while it is loaded is never ready', async () => {
  const { resident, expectNothingLeft } = await serve(
    senseThat('', `process.kill(process.pid, 'SIGSTOP');`),
    { times: { readyMs: 1500 } },
  );
  expect(await resident.ended).toMatchObject({ why: 'not-ready' });
  expectNothingLeft();
});

it('a file that never finishes loading, throws, exits or is no sense costs itself only', async () => {
  const { resident } = await serve('for (;;);', {
    times: { readyMs: 10_000 },
    files: {
      throws: `throw new Error('at once');`,
      exits: `process.exit(1);`,
      other: `export default 5;`,
      missing: `import './nowhere.ts';`,
      syntax: `export default {`,
    },
  });
  const { modules } = await resident.next('ready');
  expect(modules.find(({ name }) => name === 'bad')).toEqual({ name: 'bad', isLoading: true });
  expect((await resident.compute('fine')).failure).toBeUndefined(); // it does not wait for the others
  expect(await resident.problems()).toEqual({
    bad: containing('did not load within'),
    fine: undefined,
    throws: containing('at once'),
    exits: containing('ended while it was loaded'),
    other: containing('defineSense'),
    missing: containing('nowhere.ts'),
    syntax: expect.any(String),
  });
  expect((await resident.compute('fine')).failure).toBeUndefined();
});

it('code that fills its disk is ended, with the folder and what to do; no start adds to it', async () => {
  const limits = { memory: 512 * 1024 ** 2, pids: 128, disk: 4 * 1024 ** 2 };
  const { resident, root, startAgain, expectNothingLeft } = await serve(
    senseThat(
      `for (let n = 0; ; n += 1) { writeFileSync(process.env.CAISSON_STATE + '/' + n, Buffer.alloc(1024 ** 2)); await new Promise((r) => setTimeout(r, 50)); }`,
      `import { writeFileSync } from 'node:fs';`,
    ),
    {
      grant: { limits },
      files: {
        counts: senseThat(`const n = (state.get('n') ?? 0) + 1; state.set('n', n); emit('n', n);`),
      },
    },
  );
  await resident.next('ready');
  await resident.process.send(computeOrder('bad'));
  const state = `${root}/.caisson/residents/senses.group/state`;
  const ended = { why: 'disk', detail: containing(`${state} has`) };
  expect(await resident.ended).toMatchObject(ended);
  expectNothingLeft();
  for (const text of ['the limit is 4194304', 'caisson residents reset senses.group'])
    expect((await resident.ended).detail).toContain(text);
  const names = readdirSync(state);
  const next = await startAgain();
  expect(await next.ended).toMatchObject(ended);
  expect(next.lines.map(({ kind }) => kind)).toEqual(['ended']);
  expect(readdirSync(state)).toEqual(names);
  rmSync(state, { recursive: true });
  const last = await startAgain();
  expect((await last.compute('counts')).signals).toEqual([{ name: 'n', payload: 1 }]);
}, 40_000);

it('no single file becomes larger than the disk limit, also in one call', async () => {
  const limits = { memory: 512 * 1024 ** 2, pids: 128, disk: 16 * 1024 ** 2 };
  const { resident, root } = await serve(
    senseThat(
      `const { status } = spawnSync('fallocate', ['-l', '1G', process.env.CAISSON_STATE + '/large']);
       emit('tried', status === 0 ? 'allocated' : 'refused');`,
      `import { spawnSync } from 'node:child_process';`,
    ),
    { grant: { limits } },
  );
  expect((await resident.compute('bad')).signals).toEqual([{ name: 'tried', payload: 'refused' }]);
  expect(await measureTree(`${root}/.caisson/residents/senses.group/state`)).toBeLessThan(limits.disk);
  expect((await resident.compute('fine')).failure).toBeUndefined();
}, 20_000);

it('code that fills a folder that it was granted is ended, with the folder and its limit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'granted-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'before'), Buffer.alloc(8 * 1024 ** 2)); // what is there already does not count
  const limits = { memory: 512 * 1024 ** 2, pids: 128, disk: 4 * 1024 ** 2 };
  const { resident, expectNothingLeft } = await serve(
    senseThat(
      `for (let n = 0; ; n += 1) { writeFileSync('${folder}/' + n, Buffer.alloc(1024 ** 2)); await new Promise((r) => setTimeout(r, 50)); }`,
      `import { writeFileSync } from 'node:fs';`,
    ),
    { grant: { limits, write: [folder] } },
  );
  expect((await resident.compute('fine')).failure).toBeUndefined();
  await resident.process.send(computeOrder('bad'));
  expect(await resident.ended).toMatchObject({ why: 'disk', detail: containing(`the folder ${folder}`) });
  expectNothingLeft();
}, 20_000);

it('code that starts more processes than it may gets an error, and the rest goes on', async () => {
  const limits = { memory: 512 * 1024 ** 2, pids: 64, disk: 256 * 1024 ** 2 };
  const { resident } = await serve(
    senseThat(
      `const begun = Array.from({ length: 128 }, () => spawn('sleep', ['600'], { stdio: 'ignore' }));
       const codes = await Promise.all(begun.map((one) => new Promise((resolve) => {
         one.once('spawn', () => resolve('spawned')); one.once('error', ({ code }) => resolve(code)); })));
       for (const one of begun) one.kill('SIGKILL');
       emit('tried', { isLimited: codes.filter((code) => code === 'EAGAIN').length >= 64, other: codes.filter((code) => !['EAGAIN', 'spawned'].includes(code)) });`,
      `import { spawn } from 'node:child_process';`,
    ),
    { grant: { limits } },
  );
  await resident.next('ready');
  const { signals } = await resident.compute('bad');
  expect(signals).toEqual([{ name: 'tried', payload: { isLimited: true, other: [] } }]);
  expect((await resident.compute('fine')).failure).toBeUndefined();
}, 20_000);

it('code that leaves no process to its sandbox ends with it, and its group is served again', async () => {
  const limits = { memory: 512 * 1024 ** 2, pids: 64, disk: 256 * 1024 ** 2 };
  // Takes each place that a thread leaves.
  const fill = `const { spawn } = require('node:child_process');
    setInterval(() => spawn('sleep', ['600']).on('error', () => {}), 5);`;
  const { resident, startAgain } = await serve(
    senseThat(
      `if (existsSync(mark)) return emit('again');
       writeFileSync(mark, '');
       spawn(process.execPath, ['-e', ${JSON.stringify(fill)}], { stdio: 'ignore', detached: true }).unref();
       for (let isFull = false; !isFull; )
         isFull = await new Promise((resolve) =>
           spawn('sleep', ['0.1']).once('exit', () => resolve(false)).once('error', () => resolve(true)));
       for (;;);`,
      `import { spawn } from 'node:child_process'; import { existsSync, writeFileSync } from 'node:fs';
       const mark = process.env.CAISSON_STATE + '/filled';`,
    ),
    { grant: { limits } },
  );
  await resident.next('ready');
  expect((await resident.compute('bad', { timeoutMs: 8000, graceMs: 100 })).failure?.kind).toBe('timeout');
  const failures: unknown[] = [];
  for (let isOpen = true; isOpen;) {
    const order = computeOrder('bad');
    isOpen = await resident.process.send(order);
    if (isOpen)
      isOpen = await resident
        .next('computed', ({ id }) => id === order.id)
        .then(({ failure }) => failures.push(failure) < 20)
        .catch(() => false);
  }
  expect(failures.filter((failure) => failure !== undefined)).toEqual([]);
  expect((await resident.ended).stderrTail).toContain('no thread can be started for bad');
  const next = await startAgain();
  expect((await next.compute('bad')).signals).toEqual([{ name: 'again', payload: null }]);
  expect((await next.compute('fine')).failure).toBeUndefined();
}, 40_000);

it('code that takes more memory than its sandbox has ends as memory', async () => {
  const limits = { memory: 160 * 1024 ** 2, pids: 128, disk: 256 * 1024 ** 2 };
  const { resident, expectNothingLeft } = await serve(
    senseThat(`const all = []; for (;;) all.push(Buffer.alloc(8 * 1024 ** 2, 1));`),
    { grant: { limits } },
  );
  await resident.next('ready');
  await resident.process.send(computeOrder('bad'));
  expect(await resident.ended).toMatchObject({ why: 'memory' });
  expectNothingLeft();
}, 20_000);

it('code that patches globals harms itself at most', async () => {
  const { resident } = await serve(
    senseThat(
      `emit('ok');`,
      `JSON.stringify = () => 'x'; JSON.parse = () => null; Promise.prototype.then = undefined;
       Array.prototype.push = () => 0; globalThis.process = undefined; Object.prototype.toString = null;`,
    ),
  );
  const bad = await resident.compute('bad', { timeoutMs: 500, graceMs: 100 });
  expect(bad).toMatchObject({ kind: 'computed' });
  expect((await resident.compute('fine')).signals).toEqual([{ name: 'fine', payload: null }]);
});

it('code that keeps a server and a socket open is served and ended as any other', async () => {
  const { resident, expectNothingLeft } = await serve(
    senseThat(
      `const server = createServer().listen(0, '127.0.0.1'); await once(server, 'listening');
       const socket = connect(server.address().port, '127.0.0.1'); await once(socket, 'connect'); emit('open');`,
      `import { connect, createServer } from 'node:net'; import { once } from 'node:events';`,
    ),
  );
  expect((await resident.compute('bad')).signals).toEqual([{ name: 'open', payload: null }]);
  expect((await resident.compute('bad')).signals).toEqual([{ name: 'open', payload: null }]);
  await resident.process.send({ kind: 'stop', graceMs: 0 });
  expect((await resident.ended).why).toBe('stopped');
  expectNothingLeft();
});

it('log lines beyond the rate are counted', async () => {
  const { resident } = await serve(
    senseThat(
      `const line = JSON.stringify({ kind: 'logged', name: 'bad', text: 'x' }) + '\\n';
      for (let n = 0; n < 2000; n += 1) { try { writeSync(3, line); } catch { n -= 1; await new Promise((r) => setTimeout(r, 5)); } }`,
      `import { writeSync } from 'node:fs';`,
    ),
  );
  await resident.compute('bad');
  const dropped = (): number =>
    resident.lines.reduce((sum, line) => sum + (line.kind === 'log-dropped' ? line.lines : 0), 0);
  await expect.poll(dropped, { timeout: 15_000 }).toBeGreaterThan(1000);
}, 20_000);
