/** Senses in real workers and sandboxes, through the door of the room. */
import { createStamp, systemClock } from '@caisson/ground';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createBus } from '../bus/index.ts';
import { createFeed } from '../ledger/index.ts';
import { createResidents } from './create-residents.ts';
import { createFakeThreads } from './fixtures/fake-threads.ts';
import { guardSecrets } from './guard-secrets.ts';
import { openStarter } from './fixtures/open-starter.ts';

const counts = (version: number): string => `
  import { defineSense } from 'caisson';
  export default defineSense({
    compute({ state, emit }) {
      const n = (state.get('n') ?? 0) + 1;
      state.set('n', n);
      emit('counted', { n, version: ${version} });
    },
  });`;

/** One sense that counts its computes, and a workflow that listens. */
async function serveCounts() {
  const { starter, rooms, root, plan } = await openStarter();
  const { modules, grant } = plan('senses', { counts: counts(1) });
  const file = modules[0]?.file ?? '';
  const { ledger, recorder } = rooms;
  const feed = createFeed({ ledger, recorder, clock: systemClock });
  const threads = createFakeThreads();
  const warnings: string[] = [];
  let onWarning = (): void => undefined;
  const warned = (): Promise<void> => new Promise((resolve) => (onWarning = resolve));
  const limits = { throttleMs: 0, timeoutMs: 20_000, graceMs: 1000 };
  const sense = { name: 'counts', file, group: 'group', on: [], ...limits, grant };
  const residents = await createResidents({
    ...{ projectRoot: root, starter, clock: systemClock, ledger, recorder, feed, bus: createBus() },
    stamp: createStamp(Buffer.from('a secret')),
    readSettings: () => ({ senses: [sense], workflows: [] }),
    openThreads: () => threads,
    warn(message) {
      warnings.push(message);
      onWarning();
    },
  });
  onTestFinished(async () => {
    await residents.stop();
    feed.stop();
  });
  const trigger = async (): Promise<unknown> => {
    const { signals, failure } = await residents.trigger('counts');
    return failure ?? signals[0]?.payload;
  };
  const guard = (): void => {
    const warn = (text: string): void => void warnings.push(text);
    const guarded = guardSecrets(residents, { projectRoot: root, clock: systemClock, warn });
    onTestFinished(() => guarded.stop());
  };
  const startsBeyond = async (starts: number): Promise<void> => {
    while ((residents.residents()[0]?.starts ?? 0) <= starts)
      await new Promise((resolve) => setImmediate(resolve));
  };
  return { residents, root, trigger, file, warnings, warned, guard, startsBeyond };
}

it('a worker that is killed costs nothing but time: the next compute goes on where the last one was', async () => {
  const { residents, trigger } = await serveCounts();
  expect(await trigger()).toEqual({ n: 1, version: 1 });
  const [{ pid = 0 } = {}] = residents.residents();
  process.kill(pid, 'SIGKILL');
  // Whether the compute was sent before the end is noticed or not: it is made.
  const { n } = (await trigger()) as { n: number };
  expect(n).toBeGreaterThanOrEqual(2);
  expect(residents.residents()).toMatchObject([{ state: 'ready', crashes: 1, starts: 2 }]);
});

it('reloads every 200 ms during 5,000 computes lose none and double none', async () => {
  const { residents, trigger, file } = await serveCounts();
  const computed: unknown[] = [];
  let version = 1;
  const isOver = (): boolean => computed.length >= 5000 && (residents.residents()[0]?.starts ?? 0) >= 8;
  const change = async (): Promise<void> => {
    while (!isOver()) {
      version += 1;
      writeFileSync(file, counts(version));
      await residents.reload();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const changing = change();
  while (!isOver()) computed.push(((await trigger()) as { n: number }).n);
  await changing;
  expect(computed).toEqual(computed.map((_, index) => index + 1));
  expect(residents.residents()).toMatchObject([{ crashes: 0 }]);
});

it('a changed file that does not load leaves the old version at work, and a fixed one takes over', async () => {
  const { residents, trigger, file, warnings, warned } = await serveCounts();
  expect(await trigger()).toEqual({ n: 1, version: 1 });
  const warning = warned();
  writeFileSync(file, 'this is no TypeScript');
  await warning;
  expect(warnings).toEqual([expect.stringContaining('the old version of senses.group goes on: counts: ')]);
  expect(await trigger()).toEqual({ n: 2, version: 1 });
  writeFileSync(file, counts(3));
  let last = { version: 1 };
  while (last.version === 1) last = (await trigger()) as { version: number };
  expect(last.version).toBe(3);
  expect(residents.residents()[0]?.problems).toBeUndefined();
});

it.each(['.env', '.git/config', '.git/modules/deep/sub/config'])(
  'a %s that is replaced while a sense serves is not shown to it, which counts for no crash',
  async (name) => {
    const { residents, root, trigger, file, warnings, guard } = await serveCounts();
    const path = join(root, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(join(path, '..', 'HEAD'), '');
    writeFileSync(path, 'password');
    writeFileSync(
      file,
      `import { readFileSync } from 'node:fs';
      export default { compute({ emit }) {
        let seen; try { seen = readFileSync(${JSON.stringify(path)}, 'utf8'); } catch (error) { seen = error.code; }
        emit('seen', seen);
      } };`,
    );
    await residents.reload();
    guard();
    const hidden = name === '.env' ? 'EACCES' : '';
    expect(await trigger()).toBe(hidden);
    const starts = residents.residents()[0]?.starts ?? 0;
    writeFileSync(join(root, 'draft'), 'new password');
    renameSync(join(root, 'draft'), path);
    while ((residents.residents()[0]?.starts ?? 0) === starts)
      await new Promise((resolve) => setImmediate(resolve));
    expect(await trigger()).toBe(hidden);
    expect(residents.residents()).toMatchObject([{ crashes: 0 }]);
    expect(warnings).toEqual([]);
  },
);

it('a .git that leads to itself ends nothing: what is made later is still hidden', async () => {
  const { root, trigger, guard, startsBeyond } = await serveCounts();
  rmSync(join(root, '.git'), { recursive: true, force: true });
  guard();
  await trigger();
  mkdirSync(join(root, 'x'));
  symlinkSync('modules', join(root, 'x/modules'));
  renameSync(join(root, 'x'), join(root, '.git'));
  writeFileSync(join(root, '.env'), 'password');
  await startsBeyond(1);
  expect(await trigger()).toMatchObject({ version: 1 });
});

it('a .env that comes and goes all the time restarts a sense once a second at most', async () => {
  const { residents, root, trigger, guard, startsBeyond } = await serveCounts();
  guard();
  await trigger();
  const beganAt = performance.now();
  for (let flips = 0; performance.now() - beganAt < 3000; flips += 1) {
    writeFileSync(join(root, '.env'), `password ${flips}`);
    await new Promise((resolve) => setImmediate(resolve));
    rmSync(join(root, '.env'));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const seconds = (performance.now() - beganAt) / 1000;
  expect(residents.residents()[0]?.starts).toBeLessThanOrEqual(2 + Math.ceil(seconds));
  const starts = residents.residents()[0]?.starts ?? 0;
  writeFileSync(join(root, '.env'), 'the last one');
  await startsBeyond(starts);
});
