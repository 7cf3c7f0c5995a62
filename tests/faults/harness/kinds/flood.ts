/** A gigabyte of output: host and worker stay small, and the run ends in order. */
import type { DispatchResult } from '@caisson/protocol';
import { finish, openProject, type Project } from '../../../e2e/open-project.ts';
import { childrenOf, peakMemoryMiB, readCommand } from '../../processes.ts';
import type { Kind } from '../contract.ts';

/** A bare Node of this version takes some 50 MiB; the rest is what we allow ourselves. */
export const MAX_HOST_MIB = 220;
export const MAX_WORKER_MIB = 260;

/** Prints so many MiB of short lines. */
export const FLOOD_PROGRAM = `const b = Buffer.from(('x'.repeat(127) + '\\n').repeat(8192)); let n = 0; const max = Number(process.argv[1]);
const go = () => { while (n++ < max) if (!process.stdout.write(b)) return process.stdout.once('drain', go); }; go();`;

const MIB = 1024;

export const flood: Kind = {
  name: 'flood',
  summary: 'a gigabyte of output',
  isUsual: false,
  findObstacle: () => null,
  plan: () => ({
    name: `${MIB} MiB of output`,
    async run() {
      const ends: (() => void)[] = [];
      const project = openProject({ git: false }, (end) => ends.push(end));
      try {
        const { result, peaks } = await runFlood(project, ['-e', FLOOD_PROGRAM, String(MIB)]);
        const isDone = result.status === 'done';
        return {
          outcome: isDone ? 'done' : 'failed',
          struck: 1,
          missed: 0,
          violations: [
            ...(isDone ? [] : [`ends: the run is ${result.status}`]),
            ...(peaks.host < MAX_HOST_MIB ? [] : [`memory: the host took ${peaks.host} MiB`]),
            ...(peaks.worker < MAX_WORKER_MIB ? [] : [`memory: the worker took ${peaks.worker} MiB`]),
          ],
        };
      } finally {
        for (const end of ends.toReversed()) end();
      }
    },
  }),
};

export interface Peaks {
  host: number;
  worker: number;
}

/** Runs Node with these arguments and measures host and worker meanwhile. */
export async function runFlood(
  project: Project,
  argv: readonly string[],
): Promise<{ result: DispatchResult; peaks: Peaks }> {
  const peaks: Peaks = { host: 0, worker: 0 };
  const child = project.start('run', '-o', 'json', '--', process.execPath, ...argv);
  const host = child.pid ?? 0;
  const sampling = setInterval(() => {
    peaks.host = Math.max(peaks.host, peakMemoryMiB(host));
    for (const pid of childrenOf(host))
      if (readCommand(pid).includes('worker.mjs')) peaks.worker = Math.max(peaks.worker, peakMemoryMiB(pid));
  }, 50);
  const cli = await finish(child);
  clearInterval(sampling);
  return { result: JSON.parse(cli.stdout) as DispatchResult, peaks };
}
