import { afterEach, describe, expect, it } from 'vitest';
import { ownSpareWorkers, startEarlyWorker } from './early-worker.ts';

afterEach(() => ownSpareWorkers().stop());

describe('the worker that is started before the CLI is loaded', () => {
  it('is handed over once, alive and waiting', async () => {
    startEarlyWorker(['--runtime', 'command', '--', 'true']);
    const child = await ownSpareWorkers().take();
    expect(await ownSpareWorkers().take()).toBeNull();
    expect(child?.pid).toBeGreaterThan(0);
    child?.kill('SIGKILL');
    expect(await child?.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it.each([['--help'], ['-h'], ['fix it', '--detach']])('is not started for %s', async (...words) => {
    startEarlyWorker(words);
    expect(await ownSpareWorkers().take()).toBeNull();
  });

  it('is started when the words after -- are those of another program', async () => {
    startEarlyWorker(['--', 'git', '--help']);
    const child = await ownSpareWorkers().take();
    expect(child).not.toBeNull();
    child?.kill('SIGKILL');
  });
});
