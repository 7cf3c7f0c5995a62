// What is measured, as a process of its own: node host.ts ORDER. Does the work again and again and prints what the counted
// times took. The files `begin` and `end` mark them for a trace from outside.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCaisson, type DispatchRequest } from 'caisson';

import { startInBwrap } from '../dispatch/bare-bwrap.ts';
import { timeProgram, type Scratch } from '../dispatch/scratch.ts';

/** A run by library call, or what it is compared with. */
export type Work =
  | { readonly kind: 'dispatch'; readonly request: DispatchRequest }
  | { readonly kind: 'program'; readonly argv: readonly string[] }
  | { readonly kind: 'bare-bwrap' };

export interface HostOrder {
  readonly scratch: Pick<Scratch, 'root' | 'project' | 'env'>;
  readonly work: Work;
  /** Where the marks are written. */
  readonly marks: string;
  readonly warmUps: number;
  readonly times: number;
}

/** What one of them took on average. */
export interface HostReport {
  /** CPU time of the host itself. */
  readonly hostMs: number;
  /** CPU time of every program that was started and has ended. */
  readonly programsMs: number;
  readonly wallMs: number;
}

const TICK_MS = 10;

const order = JSON.parse(process.argv[2] ?? '') as HostOrder;
const { start, close } = await open(order);
await repeat(order.warmUps);
process.stdout.write(JSON.stringify(await measure()));
await close();

async function measure(): Promise<HostReport> {
  writeFileSync(join(order.marks, 'begin'), '');
  const before = { own: process.cpuUsage(), programsMs: endedProgramsMs(), atMs: performance.now() };
  await repeat(order.times);
  const { user, system } = process.cpuUsage(before.own);
  const report = {
    hostMs: (user + system) / 1000 / order.times,
    programsMs: (endedProgramsMs() - before.programsMs) / order.times,
    wallMs: (performance.now() - before.atMs) / order.times,
  };
  writeFileSync(join(order.marks, 'end'), '');
  return report;
}

/** Those that we waited for, and those that our parent did: what bubblewrap leaves behind comes to it (`reaper.ts`). */
function endedProgramsMs(): number {
  return waitedForMs(process.pid) + waitedForMs(process.ppid);
}

function waitedForMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

async function repeat(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await start();
}

async function open({
  work,
  scratch,
}: HostOrder): Promise<{ start(): Promise<unknown>; close(): Promise<void> }> {
  const whole = { ...scratch, remove: () => undefined };
  const nothing = (): Promise<void> => Promise.resolve();
  if (work.kind === 'bare-bwrap') return { start: () => startInBwrap(whole), close: nothing };
  const [file = '', ...args] = work.kind === 'program' ? work.argv : [];
  if (work.kind === 'program') return { start: () => timeProgram(file, args, whole), close: nothing };
  const caisson = await createCaisson({ cwd: scratch.project });
  return {
    async start() {
      const { status, failure } = await (await caisson.dispatch(work.request)).ended;
      if (status !== 'done') throw new Error(`a run ended ${status}: ${failure?.detail ?? ''}`);
    },
    close: () => caisson.close(),
  };
}
