import { afterEach, describe, expect, it } from 'vitest';
import { startEarlyWorker, takeEarlyWorker } from './early-worker.ts';

afterEach(() => takeEarlyWorker()?.stop());

describe('the worker that is started before the CLI is loaded', () => {
  it('is handed over once, alive and waiting', async () => {
    startEarlyWorker(['--runtime', 'command', '--', 'true']);
    const worker = takeEarlyWorker();
    expect(takeEarlyWorker()).toBeUndefined();
    const child = await worker?.take();
    expect(child?.pid).toBeGreaterThan(0);
    child?.kill('SIGKILL');
    expect(await child?.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it.each([['--help'], ['-h'], ['fix it', '--detach']])('is not started for %s', (...words) => {
    startEarlyWorker(words);
    expect(takeEarlyWorker()).toBeUndefined();
  });

  it('is started when the words after -- are those of another program', () => {
    startEarlyWorker(['--', 'git', '--help']);
    const worker = takeEarlyWorker();
    expect(worker).toBeDefined();
    worker?.stop();
  });
});
