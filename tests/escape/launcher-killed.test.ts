import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { findByMarker, killMarked, MARKER_NAME } from '@caisson/ground';

const HOLDER = join(import.meta.dirname, 'launch-and-hold.ts');

describe('kill -9 of the process that launched a sandbox', () => {
  it('ends the sandbox when it runs', async () => {
    const marker = randomUUID();
    const holder = spawn(process.execPath, [HOLDER, marker], { stdio: ['ignore', 'pipe', 'inherit'] });
    let heard = '';
    for await (const chunk of holder.stdout) {
      heard += String(chunk);
      if (heard.includes('running')) break;
    }
    await eventually(() => programs(marker).length > 0);
    holder.kill('SIGKILL');
    await eventually(
      () => findByMarker(MARKER_NAME, marker).filter((info) => info.pid !== holder.pid).length === 0,
    );
  });

  it('never leaves the program running, at whatever moment of the start it comes', async () => {
    for (let round = 0; round < 24; round += 2) {
      const marker = randomUUID();
      const holder = spawn(process.execPath, [HOLDER, marker], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(holder.stdout, 'data');
      await delay(round);
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      await settled(marker);
      expect(programs(marker)).toEqual([]);
      // bubblewrap's first child may be caught before it is armed; it runs nothing, and a host sweeps it.
      await killMarked(MARKER_NAME, marker);
      expect(findByMarker(MARKER_NAME, marker)).toEqual([]);
    }
  });
});

function programs(marker: string): string[] {
  return findByMarker(MARKER_NAME, marker)
    .map((info) => info.comm)
    .filter((comm) => comm === 'sleep');
}

const SETTLED_MS = 150;

/** Resolves when the set of marked processes has stopped changing: a sandbox that was being built is up by then, or gone. */
async function settled(marker: string): Promise<void> {
  let last = '';
  let since = performance.now();
  while (performance.now() - since < SETTLED_MS) {
    const now = findByMarker(MARKER_NAME, marker)
      .map((info) => `${info.pid}${info.comm}`)
      .join();
    if (now !== last) since = performance.now();
    last = now;
    await delay(5);
  }
}

/** Looks until it is so; the test's own time limit is the end of patience. */
async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(5);
}
