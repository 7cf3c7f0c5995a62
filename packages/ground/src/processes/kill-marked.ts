// The last step against survivors, for a host whose worker died silently.
import { setTimeout as delay } from 'node:timers/promises';
import { findByMarker, isSameProcess } from './process-tree.ts';

const PASS_PAUSE_MS = 5;
const LIMIT_MS = 10_000;

/**
 * Kills every process whose environment has `name=value`, until a pass finds none. Returns how many were found. The
 * marker must belong to the attempt alone.
 */
export async function killMarked(name: string, value: string): Promise<number> {
  const startedAt = performance.now();
  const seen = new Set<number>();
  for (;;) {
    const found = findByMarker(name, value);
    if (found.length === 0 || performance.now() - startedAt > LIMIT_MS) return seen.size;
    for (const each of found) {
      seen.add(each.pid);
      if (isSameProcess(each.pid, each.startTime)) sendKill(each.pid);
    }
    await delay(PASS_PAUSE_MS);
  }
}

function sendKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
