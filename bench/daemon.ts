// What a host that stays costs while it works: how long its event loop is held, and what idle workers take. Needs a build
// (`npm run build`). What a command costs through a daemon, and how many runs a second, is measured in `dispatch`.
import type { BenchRow } from './bench-row.ts';
import { measureIdleWorkers } from './daemon/idle-workers.ts';
import { measureLongestTurn } from './daemon/longest-turn.ts';

export async function run(): Promise<BenchRow[]> {
  return [...(await measureLongestTurn()), ...(await measureIdleWorkers())];
}
