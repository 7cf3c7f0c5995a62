import type { Caisson } from '@caisson/engine';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Output } from './output.ts';
import { showStep } from './show-progress.ts';
import { verifyEvery } from './verify-every.ts';

function openOutput(isInteractive: boolean) {
  const shown: (string | null)[] = [];
  const output = { isInteractive, format: 'human', status: (text: string | null) => shown.push(text) };
  return { output: output as unknown as Output, shown };
}

test('who waits for a verification of everything sees it count first', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const caisson = {
    runs() {
      vi.advanceTimersByTime(1000); // a page takes long
      return Promise.resolve([{ runId: 'run_1', endedAt: 'x' }]);
    },
    verify: () => Promise.resolve({ outcome: 'ok', checks: [] }),
  } as unknown as Caisson;
  const { output, shown } = openOutput(true);
  expect(await verifyEvery(caisson, {}, output)).toMatchObject({ outcome: 'ok', runs: 1 });
  expect(shown).toEqual(['counting the runs: 1', 'verified 1 of 2 runs', null]);
});

test('a look that cannot be counted is announced on a terminal, if there is much to look at', () => {
  const [terminal, pipe] = [openOutput(true), openOutput(false)];
  for (const { output } of [terminal, pipe])
    for (const total of [100, 1_000_000]) showStep(output, 'checking the file')(0, total);
  expect(terminal.shown).toEqual(['checking the file']);
  expect(pipe.shown).toEqual([]);
});
