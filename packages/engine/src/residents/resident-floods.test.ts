/** One side that does not read stops the other: nothing is kept without limit, and nothing is lost. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openResidentStarter } from '../composition/open-resident-starter.ts';
import type { WorkerProcess } from '../compute/index.ts';
import { computeOrder, openStarter, startResident } from './fixtures/open-starter.ts';

const COMPUTES = 150;
const TALKS = `let n = 0; export default { compute({ emit, log }) {
  for (let i = 0; i < 7; i += 1) emit('x', 'x'.repeat(60_000));
  log('computed', n += 1);
} };`;

const rssBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

it('a guest that talks without end waits for a host that does not read, and loses nothing', async () => {
  const { plan, rooms } = await openStarter();
  let worker: WorkerProcess | null = null;
  const compute: typeof rooms.compute = {
    ...rooms.compute,
    start: async (start) => (worker = await rooms.compute.start(start)),
  };
  const starter = openResidentStarter({ ...rooms, compute }, { unresponsiveMs: 1200 });
  const resident = await startResident(starter, plan('senses', { talks: TALKS }));
  await resident.next('ready');
  const { pid } = resident.process;
  const stdout = (worker as WorkerProcess | null)?.stdout;
  stdout?.pause();
  const orders = Array.from({ length: COMPUTES }, () => computeOrder('talks'));
  for (const order of orders) await resident.process.send(order);
  const before = rssBytes(pid);
  const { promise: silence, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 3600); // several times what a guest may be silent, while we are the reason
  await silence;
  expect(rssBytes(pid) - before).toBeLessThan(32 * 1024 ** 2); // all answers together have 60 MiB
  stdout?.resume();
  const answers = await Promise.all(
    orders.map(({ id }) => resident.next('computed', (line) => line.id === id)),
  );
  expect(answers.filter(({ signals }) => signals.length === 7)).toHaveLength(COMPUTES);
}, 30_000);

it('orders for a guest that does not read wait, and are refused when it is ended for that', async () => {
  const { starter, plan } = await openStarter({ unresponsiveMs: 1000 });
  const code = `export default { compute() { process.kill(process.pid, 'SIGSTOP'); } };`;
  const resident = await startResident(starter, plan('senses', { stops: code }));
  await resident.next('ready');
  await resident.process.send(computeOrder('stops'));
  const large = computeOrder('stops');
  const cause = { kind: 'signal', name: 'x', signalId: 's', payload: 'x'.repeat(500_000) } as const;
  let sent = 0;
  while (await resident.process.send({ ...large, id: `large${sent}`, cause })) sent += 1;
  expect(sent).toBeLessThan(100);
  expect((await resident.ended).why).toBe('unresponsive');
}, 30_000);
