/** What is left when a guest, a worker or a host dies without a word: its state, and nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findByMarker, listOwnCgroups, MARKER_NAME, readProcess } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { openResidentStarter } from '../composition/open-resident-starter.ts';
import { computeOrder, openStarter, startResident } from './fixtures/open-starter.ts';

const COUNTS = `export default { compute({ state, emit }) {
  const n = (state.get('n') ?? 0) + 1;
  state.set('n', n);
  emit('n', n);
  if (n === 3) state.transaction(() => { state.set('n', 100); process.kill(process.pid, 'SIGKILL'); for (;;); });
} };`;

it('state survives a respawn, and a crash undoes all of its compute', async () => {
  const { starter, plan } = await openStarter();
  const counts = plan('senses', { counts: COUNTS });
  const first = await startResident(starter, counts);
  for (const n of [1, 2])
    expect((await first.compute('counts')).signals).toEqual([{ name: 'n', payload: n }]);
  await first.process.send(computeOrder('counts'));
  expect((await first.ended).why).toBe('signal');
  const dump = "export default { compute({ state, emit }) { emit('n', state.get('n')); } };";
  const second = await startResident(starter, plan('senses', { counts: dump }));
  expect((await second.compute('counts')).signals).toEqual([{ name: 'n', payload: 2 }]);
});

it('a thread that is ended in a transaction leaves it undone, and the database free', async () => {
  const { starter, plan } = await openStarter();
  const code = `export default { compute({ state, emit }) {
    emit('n', state.get('n') ?? 0);
    if (state.get('n') === undefined) { state.set('n', 1); state.transaction(() => { state.set('n', 100); for (;;); }); }
  } };`;
  const resident = await startResident(starter, plan('senses', { loops: code, counts: COUNTS }));
  const { failure } = await resident.compute('loops', { timeoutMs: 300, graceMs: 50 });
  expect(failure?.kind).toBe('timeout');
  expect((await resident.compute('counts')).signals).toEqual([{ name: 'n', payload: 1 }]);
});

it('a worker that is killed leaves nothing', async () => {
  const { starter, plan, rooms } = await openStarter();
  const resident = await startResident(starter, plan('senses', { counts: COUNTS }));
  await resident.next('ready');
  process.kill(resident.process.pid, 'SIGKILL');
  expect(await resident.ended).toMatchObject({ why: 'worker-died', detail: 'its worker ended with SIGKILL' });
  expect(findByMarker(MARKER_NAME, resident.process.resident)).toEqual([]);
  expect(listOwnCgroups().map(({ name }) => name)).not.toContain(resident.process.resident);
  expect(rooms.ledger.kv.list('residents')).toEqual([]);
  expect(await resident.process.send(computeOrder('counts'))).toBe(false);
});

it('a host that is killed leaves no process, and the next one removes the rest', async () => {
  const { starter, plan, rooms, root, env } = await openStarter();
  const text = JSON.stringify(plan('senses', { counts: COUNTS }));
  const program = fileURLToPath(new URL('./fixtures/resident-host.ts', import.meta.url));
  const host = spawn(process.execPath, [program, root, text], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void host.kill('SIGKILL'));
  const [line] = (await once(createInterface(host.stdout), 'line')) as [string];
  const [resident = '', pid = ''] = line.split(' ');
  expect(findByMarker(MARKER_NAME, resident).length).toBeGreaterThan(0);
  await starter.sweep();
  expect(findByMarker(MARKER_NAME, resident).length).toBeGreaterThan(0); // its host is there
  host.kill('SIGKILL');
  await expect.poll(() => findByMarker(MARKER_NAME, resident)).toEqual([]);
  await expect.poll(() => readProcess(Number(pid))?.state ?? 'Z').toBe('Z');
  await starter.sweep();
  expect(listOwnCgroups().map(({ name }) => name)).not.toContain(resident);
  expect(rooms.ledger.kv.list('residents')).toEqual([]);
});

it('a limit that was set and cannot be enforced is refused', async () => {
  const { plan, rooms } = await openStarter();
  const compute: typeof rooms.compute = {
    ...rooms.compute,
    limit: (key, limits) => ({
      ...rooms.compute.limit(key, limits),
      enforced: { memory: false, cpus: false, pids: false },
      why: 'no group here',
    }),
  };
  const starter = openResidentStarter({ ...rooms, compute });
  const grant = { chosenLimits: ['memory'] as const };
  await expect(starter.start(plan('senses', { counts: COUNTS }, grant))).rejects.toMatchObject({
    code: 'WORKER_START_FAILED',
    message: expect.stringContaining('its limit memory was set and cannot be enforced here: no group here'),
  });
  expect(rooms.ledger.kv.list('residents')).toEqual([]);
});

it('a worker whose row cannot be written is ended, and the start is refused', async () => {
  const { plan, rooms } = await openStarter();
  const { kv } = rooms.ledger;
  let resident = '';
  const failing: typeof kv = {
    get: (...given) => kv.get(...given),
    list: (...given) => kv.list(...given),
    delete: (...given) => kv.delete(...given),
    set(space, key, value) {
      if (resident === key) throw new Error('the disk is full');
      resident = key;
      kv.set(space, key, value);
    },
  };
  const starter = openResidentStarter({ ...rooms, ledger: { kv: failing } });
  await expect(starter.start(plan('senses', { counts: COUNTS }))).rejects.toThrow('the disk is full');
  expect(findByMarker(MARKER_NAME, resident)).toEqual([]);
  expect(listOwnCgroups().map(({ name }) => name)).not.toContain(resident);
  expect(kv.list('residents')).toEqual([]);
});

it('an ending is reported although something of it is left, which is warned of', async () => {
  const { plan, rooms } = await openStarter();
  const warnings: string[] = [];
  const compute: typeof rooms.compute = {
    ...rooms.compute,
    stop: async (...given) => [...(await rooms.compute.stop(...given)), 4711],
    async release(handle) {
      await rooms.compute.release(handle);
      throw new Error('the group is busy');
    },
  };
  const starter = openResidentStarter({ ...rooms, compute }, {}, (message) => void warnings.push(message));
  const { process: started } = await startResident(starter, plan('senses', { counts: COUNTS }));
  started.kill();
  expect(await started.ended).toMatchObject({ why: 'stopped', detail: 'its host ended it' });
  expect(warnings).toEqual([
    `processes of ${started.resident} could not be ended and may still exist: pid 4711`,
    `something of ${started.resident} is left: the group is busy`,
  ]);
});
