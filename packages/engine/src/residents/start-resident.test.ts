import { expect, it } from 'vitest';
import { openResidentStarter } from '../composition/open-resident-starter.ts';
import { openStarter, startResident } from './fixtures/open-starter.ts';

const COUNTS = `
  import { defineSense } from 'caisson';
  import { add } from './add.ts';
  export default defineSense<{ counted: { n: number } }>({
    compute({ state, emit, log }) {
      const n: number = add(state.get<number>('n') ?? 0);
      state.set('n', n);
      log('n is', n);
      emit('counted', { n });
    },
  });`;

it('a sense is loaded, computes, keeps its state, and stops without a trace', async () => {
  const { starter, plan } = await openStarter();
  const counts = plan('senses', { add: 'export const add = (n: number) => n + 1;', counts: COUNTS });
  const resident = await startResident(starter, { ...counts, modules: counts.modules.slice(1) });
  expect(await resident.next('ready')).toEqual({ kind: 'ready', modules: [{ name: 'counts' }] });
  expect((await resident.compute('counts')).signals).toEqual([{ name: 'counted', payload: { n: 1 } }]);
  expect((await resident.compute('counts')).signals).toEqual([{ name: 'counted', payload: { n: 2 } }]);
  expect(await resident.next('logged')).toEqual({ kind: 'logged', name: 'counts', text: 'n is 1' });
  await resident.process.send({ kind: 'stop', graceMs: 1000 });
  expect(await resident.ended).toEqual({ why: 'stopped', detail: 'its host stopped it', stderrTail: '' });
});

it('what a dead host left and cannot be removed is named, stays for the next host, and keeps nothing else', async () => {
  const { rooms } = await openStarter();
  const [stuck, gone] = ['res_00000000000000000001', 'res_00000000000000000002'];
  const { kv } = rooms.ledger;
  const row = { host: { pid: process.pid, startTime: 'of another process' } };
  for (const resident of [stuck, gone]) kv.set('residents', resident, row);
  const busy = new Error('EBUSY: resource busy or locked, rmdir');
  const sweep: typeof rooms.compute.sweep = (key) =>
    key === stuck ? Promise.reject(busy) : rooms.compute.sweep(key);
  const warnings: string[] = [];
  const starter = openResidentStarter({ ...rooms, compute: { ...rooms.compute, sweep } }, {}, (message) =>
    warnings.push(message),
  );
  await starter.sweep();
  expect(warnings).toEqual([`something of ${stuck} is left: ${busy.message}`]);
  expect(kv.list('residents')).toEqual([{ key: stuck, value: row }]);
  await openResidentStarter(rooms).sweep();
  expect(kv.list('residents')).toEqual([]);
});

it('what nothing enforces here is known of each start, and one warning says it', async () => {
  const { rooms, plan } = await openStarter();
  const warnings: string[] = [];
  const limit: typeof rooms.compute.limit = (...asked) => ({
    ...rooms.compute.limit(...asked),
    ...{ enforced: { memory: false, cpus: true, pids: false }, why: 'no cgroup is writable' },
  });
  const without = { ...rooms, compute: { ...rooms.compute, limit } };
  const starter = openResidentStarter(without, {}, (message) => void warnings.push(message));
  const quiet = plan('senses', { quiet: 'export default { compute() {} };' });
  for (let n = 0; n < 2; n += 1) {
    const { process } = await startResident(starter, quiet);
    expect(process.unenforced).toBe('memory, pids (no cgroup is writable)');
  }
  expect(warnings).toEqual([
    'limits of residents are not enforced here: memory, pids (no cgroup is writable); see caisson doctor',
  ]);
});
