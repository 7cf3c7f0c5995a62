// What one run costs, by part: CPU time, wall time, commits, fsyncs, programs started and files made, for a no-op by
// library call and for codex with a scripted model that answers at once, by library call and by the command line. CPU time is the kernel's own count, that of the
// peer, too; its share of each part is sampled. The rest is from a second host under strace. Needs a build; codex is not
// measured where it is not in .cache/agents.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CLI, createAgentScene, EDIT, NO_CODEX, OURS } from './agents/scene.ts';
import { measureInTurns } from './alternate.ts';
import { unmeasuredRow, type BenchRow } from './bench-row.ts';
import { formatCosts, type Costs } from './cost/format-costs.ts';
import type { HostOrder, Work } from './cost/host.ts';
import type { Part } from './cost/parts.ts';
import {
  watchCalls,
  watchTimes,
  type PartCounts,
  type Watched,
  type WatchedTimes,
} from './cost/watch-host.ts';
import { createScratch, type Scratch } from './dispatch/scratch.ts';

const HOST = fileURLToPath(new URL('cost/host.ts', import.meta.url));
/** A host that stays has started the thread of its ledger (after 40 commits) before its runs are counted. */
const WARM_UPS = { host: 12, program: 2 };
/** Of ours and of the peer, in turns; the medians count, and the table is of the round in the middle. */
const ROUNDS = 3;
const AT_MOST = 2;
const TARGET = `<= ${AT_MOST}x`;
const UNIT = 'ms CPU';
const CODEX_ALONE = 'codex exec alone';
const CODEX = {
  byLibrary: 'one edit by codex, by library call',
  byCommandLine: 'one edit by codex, by the command line',
};

interface Subject {
  readonly name: string;
  readonly scratch: Scratch;
  readonly work: Work;
  readonly peerName: string;
  readonly peer: Work;
  readonly warmUps: number;
  /** Counted runs. */
  readonly times: number;
}

export async function run(): Promise<BenchRow[]> {
  return [await measureNoOp(), ...(await measureCodex())];
}

async function measureNoOp(): Promise<BenchRow> {
  const scratch = createScratch('cost');
  try {
    return await compare({
      name: 'true, by library call',
      scratch,
      work: { kind: 'dispatch', request: { runtime: 'command', argv: ['true'], workspace: 'empty' } },
      peerName: 'bwrap … node -e 0, same flags',
      peer: { kind: 'bare-bwrap' },
      warmUps: WARM_UPS.host,
      times: 8,
    });
  } finally {
    scratch.remove();
  }
}

async function measureCodex(): Promise<BenchRow[]> {
  const scene = await createAgentScene();
  if (scene === null) {
    const names = Object.values(CODEX);
    return names.map((name) =>
      unmeasuredRow({ name: titleOf(name), unit: UNIT, peer: CODEX_ALONE, target: TARGET }, NO_CODEX),
    );
  }
  const alone = {
    scratch: scene.scratch,
    peerName: CODEX_ALONE,
    peer: { kind: 'program', argv: scene.bareCommand(EDIT) },
    times: 3,
  } as const;
  const line = [process.execPath, CLI, ...OURS, '--no-daemon', EDIT];
  try {
    return [
      await compare({
        ...alone,
        name: CODEX.byLibrary,
        work: { kind: 'dispatch', request: { runtime: 'codex', task: EDIT } },
        warmUps: WARM_UPS.host,
      }),
      await compare({
        ...alone,
        name: CODEX.byCommandLine,
        work: { kind: 'program', argv: line },
        warmUps: WARM_UPS.program,
      }),
    ];
  } finally {
    await scene.remove();
  }
}

async function compare(subject: Subject): Promise<BenchRow> {
  const measured: WatchedTimes[] = [];
  const cpuMs = await measureInTurns(ROUNDS, {
    peer: async () => (await watchTimes(hostCommand(subject, subject.peer))).report.programsMs,
    ours: async () => {
      const times = await watchOurs(subject);
      measured.push(times);
      return sumCpu(times);
    },
  });
  const [value, peerValue] = [cpuMs.ours, cpuMs.peer];
  const middle = measured.find((times) => sumCpu(times) === value) ?? (await watchOurs(subject));
  const costs = await measureCosts(subject, middle);
  return {
    name: titleOf(subject.name),
    ...{ value, unit: UNIT, peer: subject.peerName, peerValue, ratio: value / peerValue },
    target: TARGET,
    met: value <= AT_MOST * peerValue,
    details: formatCosts(costs),
  };
}

function titleOf(name: string): string {
  return `cost: CPU time of ${name}`;
}

async function watchOurs(subject: Subject): Promise<WatchedTimes> {
  const { report, ...sampled } = await watchTimes(hostCommand(subject, subject.work));
  // What starts a command line is a part of the bench.
  return { ...sampled, report: subject.work.kind === 'program' ? { ...report, hostMs: 0 } : report };
}

function sumCpu({ report }: WatchedTimes): number {
  return report.hostMs + report.programsMs;
}

async function measureCosts(subject: Subject, { report, samples, walls }: WatchedTimes): Promise<Costs> {
  const counts = await watchCalls(hostCommand(subject, subject.work));
  const { times } = subject;
  const perRunMs = (sums: ReadonlyMap<Part, number>): Map<Part, number> =>
    new Map([...sums].map(([part, ms]) => [part, ms / times]));
  return {
    report,
    samples: perRunMs(samples),
    walls: perRunMs(walls),
    counts: new Map([...counts].map(([part, sum]) => [part, perRun(sum, times)])),
  };
}

function hostCommand({ scratch, warmUps, times }: Subject, work: Work): Watched {
  const { root, project, env } = scratch;
  const marks = mkdtempSync(join(root, 'marks-'));
  const order: HostOrder = { scratch: { root, project, env }, work, marks, warmUps, times };
  return { argv: [process.execPath, HOST, JSON.stringify(order)], cwd: project, env, marks };
}

function perRun({ commits, fsyncs, programs, files }: PartCounts, times: number): PartCounts {
  return {
    commits: commits / times,
    fsyncs: fsyncs / times,
    programs: programs / times,
    files: files / times,
  };
}
