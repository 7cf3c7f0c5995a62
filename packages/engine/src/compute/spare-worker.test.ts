import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Child } from '@caisson/ground';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createSpareWorkers, type SpareWorkers } from './index.ts';

const WORKER = fileURLToPath(new URL('../../../worker/src/main.ts', import.meta.url));

function start(node = process.execPath): SpareWorkers {
  const compileCache = mkdtempSync(join(tmpdir(), 'caisson-spare-'));
  const spare = createSpareWorkers({ node, workerEntry: WORKER, compileCache, keepsNext: true });
  spare.warm();
  onTestFinished(() => {
    spare.stop();
    rmSync(compileCache, { recursive: true, force: true, maxRetries: 5 });
  });
  return spare;
}

it('hands out a spare worker once', async () => {
  const spare = start();
  const child = await spare.take();
  expect(child).not.toBeNull();
  expect(await spare.take()).toBeNull();
  child?.kill('SIGKILL');
  await child?.exited;
});

it('ends a spare worker when its host goes away, without a word', async () => {
  const child = await start().take();
  if (child === null) throw new Error('there is no spare worker');
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  child.control.end();
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(Buffer.concat(said).toString('utf8')).toBe('');
});

it('hands out nothing after it was stopped', async () => {
  const spare = start();
  spare.stop();
  expect(await spare.take()).toBeNull();
});

it('hands out nothing when the program cannot be started', async () => {
  expect(await start('/nowhere/node').take()).toBeNull();
});

it('starts the next one only for a host that keeps one', async () => {
  const options = { node: process.execPath, workerEntry: '/nowhere.mjs', compileCache: null };
  const [keeping, once] = [true, false].map((keepsNext) => createSpareWorkers({ ...options, keepsNext }));
  const pids = await Promise.all(
    [keeping, once].map(async (spares) => {
      spares?.warmNext();
      const child = await spares?.take();
      child?.kill('SIGKILL');
      return child?.pid;
    }),
  );
  expect(pids).toEqual([expect.any(Number), undefined]);
});

it('starts no next one for attempts that come rarely, once one was not used, and does again for those that come close', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const options = { node: process.execPath, workerEntry: '/nowhere.mjs', compileCache: null };
  const spares = createSpareWorkers({ ...options, keepsNext: true });
  onTestFinished(() => spares.stop());
  /** Whether the attempt that comes after this time finds a worker; the next one may be started after it. */
  const findsAfter = async (seconds: number): Promise<boolean> => {
    vi.advanceTimersByTime(seconds * 1000);
    const child = await spares.take();
    child?.kill('SIGKILL');
    spares.warmNext();
    return child !== null;
  };
  const found: boolean[] = [];
  for (const seconds of [0, 10, 40, 40, 40, 10, 10, 10, 40, 10]) found.push(await findsAfter(seconds));
  expect(found).toEqual([false, true, false, false, false, false, true, true, false, false]);
});

it('loads what an agent needs for its model in advance, and nothing of it for a command', async () => {
  const start = async (usesNetwork: boolean): Promise<Child> => {
    const inherited = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PRINTS_LOADED)}` };
    const options = { node: process.execPath, workerEntry: WORKER, compileCache: null, keepsNext: false };
    const spare = createSpareWorkers({ ...options, inherited });
    spare.warm({ usesNetwork });
    const child = await spare.take();
    if (child === null) throw new Error('there is no spare worker');
    onTestFinished(() => child.kill('SIGKILL'));
    return child;
  };
  const agents = await start(true);
  await readUntil(agents, NETWORK);
  const commands = await start(false);
  commands.control.end();
  const printed = await readUntil(commands, null);
  expect(printed).toContain('worker/src/main.ts');
  expect(printed).not.toContain(NETWORK);
}, 120_000);

const NETWORK = 'worker/src/network/credential-broker.ts';
const PRINTS_LOADED = `
  import { registerHooks } from 'node:module';
  const load = (url, context, next) => (process.stderr.write(url + ' '), next(url, context));
  registerHooks({ load });
`;

async function readUntil({ stderr }: Child, wanted: string | null): Promise<string> {
  let printed = '';
  for await (const chunk of stderr) {
    printed += String(chunk);
    if (wanted !== null && printed.includes(wanted)) break;
  }
  return printed;
}
