import { readdirSync, readFileSync } from 'node:fs';

/** CPU time that all threads of a process have used, in ms. */
export function readCpuMs(pid: number | string): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const spent = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
  return spent.reduce((sum, line) => sum + Number(line.split(' ')[0]) / 1e6, 0);
}
