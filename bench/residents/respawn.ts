// How soon a worker answers that replaces one that was killed, without the pause before a respawn, beside what it consists of at least: a bare fork until its first
// message, and a bubblewrap around a program that does nothing.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { measureInTurns } from '../alternate.ts';
import type { BenchRow } from '../bench-row.ts';
import { timeProgram, type Scratch } from '../dispatch/scratch.ts';
import { openRuntime, type OpenRuntime } from './open-runtime.ts';

const ROUNDS = 15;
const MOST = 1.5;
const CHILD = fileURLToPath(new URL('ready-child.mjs', import.meta.url));
const BWRAP = ['--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', 'true'];

export async function measureRespawn(): Promise<BenchRow> {
  const ours = await openRuntime();
  ours.runtime.declare(ours.plan('nothing'), { isKept: true });
  await ours.compute('nothing');
  try {
    const ms = await measureInTurns(ROUNDS, {
      ours: () => timeRespawn(ours),
      bare: () => timeBare(ours.scratch),
    });
    return {
      name: 'residents: from the SIGKILL of a worker to an answer of the next one, respawn delay 0',
      value: ms.ours,
      unit: 'ms p50',
      peer: 'a bare fork until its first message, then bwrap true',
      peerValue: ms.bare,
      ratio: ms.ours / ms.bare,
      target: `<= ${MOST}x`,
      met: ms.ours <= MOST * ms.bare,
    };
  } finally {
    await ours.close();
  }
}

async function timeRespawn({ runtime, compute }: OpenRuntime): Promise<number> {
  const { pid } = runtime.view('senses.nothing') ?? {};
  if (pid === undefined) throw new Error('there is no worker to kill');
  const startedAt = performance.now();
  process.kill(pid, 'SIGKILL');
  await compute('nothing');
  return performance.now() - startedAt;
}

async function timeBare(scratch: Scratch): Promise<number> {
  const startedAt = performance.now();
  const child = fork(CHILD, [], { env: scratch.env });
  await once(child, 'message');
  const forkMs = performance.now() - startedAt;
  child.send('end');
  await once(child, 'exit');
  return forkMs + (await timeProgram('bwrap', BWRAP, scratch));
}
