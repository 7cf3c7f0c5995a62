import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findByMarker, killMarked, MARKER_NAME } from '@caisson/ground';

const HOLDER = join(import.meta.dirname, 'launch-and-hold.ts');

describe('kill -9 of the process that launched a sandbox', () => {
  it('ends the sandbox when it runs', async () => {
    const marker = randomUUID();
    const holder = spawn(process.execPath, [HOLDER, marker], { stdio: ['ignore', 'pipe', 'inherit'] });
    let received = '';
    for await (const chunk of holder.stdout) {
      received += String(chunk);
      if (received.includes('running')) break;
    }
    await eventually(() => programs(marker).length > 0);
    holder.kill('SIGKILL');
    await eventually(
      () => findByMarker(MARKER_NAME, marker).filter((info) => info.pid !== holder.pid).length === 0,
    );
  });

  it('never leaves a process, at whatever moment of the start it comes', { timeout: 90_000 }, async () => {
    for (let round = 0; round < 24; round += 2) {
      const marker = randomUUID();
      const holder = spawn(process.execPath, [HOLDER, marker], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(holder.stdout, 'data');
      await delay(round);
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      await settled(marker);
      expect(programs(marker)).toEqual([]);
      // bubblewrap's first child may be caught before it is armed; it runs nothing, and the launch guard ends it.
      await eventually(() => findByMarker(MARKER_NAME, marker).length === 0);
    }
  });

  it('takes a first child along that waits for a bubblewrap which died with its launcher', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'caisson-stub-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const stub = join(folder, 'bwrap');
    writeFileSync(stub, STUB, { mode: 0o755 });
    for (let round = 0; round < ROUNDS; round += 1) {
      const marker = randomUUID();
      onTestFinished(async () => void (await killMarked(MARKER_NAME, marker))); // where there was no guard
      const holder = spawn(process.execPath, [HOLDER, marker, stub], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      // The child carries the mark of the attempt, like all that is launched for it.
      await eventually(() => findByMarker(MARKER_NAME, marker).some(({ comm }) => comm === 'sleep'));
      const killedAt = performance.now();
      holder.kill('SIGKILL');
      await eventually(() => findByMarker(MARKER_NAME, marker).length === 0);
      // A tenth of a second on a machine that is not busy.
      expect(performance.now() - killedAt).toBeLessThan(5000);
    }
  });
});

/** What bubblewrap is in the moment between its clone and its word to the child: armed, with a child that is not. */
const STUB = `#!/bin/sh
sleep 1000 &
exec setpriv --pdeathsig KILL sleep 1000
`;
const ROUNDS = 3;

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
