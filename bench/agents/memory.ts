// What stands around the agent while it is in a tool: host, worker, relay and bubblewrap, by proportional set size, so
// that pages that they share are counted once. Against two bare nodes, measured in the same way at the same time.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

import type { BenchRow, RowHead } from '../bench-row.ts';
import { CLI, OURS, WAIT, WAITING, type AgentScene } from './scene.ts';

const MOST_MB = 60;
const PATIENCE_MS = 60_000;
const OWN = /caisson\.js|worker\.mjs|inside\.pl|mcp-server\.mjs|(^|\/)bwrap /;

export const MEMORY_ROW: RowHead = {
  name: 'agents: memory around codex while it is in a tool',
  unit: 'MB PSS',
  peer: 'two bare node processes',
  target: `at most ${MOST_MB} MB more`,
};

export async function measureMemory({ scratch }: AgentScene): Promise<BenchRow> {
  const others = new Set(listProcesses());
  const bare = [startBareNode(), startBareNode()];
  const run = spawn(process.execPath, [CLI, ...OURS, WAIT], {
    cwd: scratch.project,
    env: scratch.env,
    stdio: 'ignore',
  });
  const ended = once(run, 'exit');
  try {
    await waitForTool(others);
    const ours = listProcesses().filter((pid) => !others.has(pid) && OWN.test(commandLine(pid)));
    const value = sumMb(ours);
    const peerValue = sumMb(bare.flatMap(({ pid }) => pid ?? []));
    return {
      ...MEMORY_ROW,
      value,
      peerValue,
      ratio: value / peerValue,
      met: value - peerValue <= MOST_MB,
    };
  } finally {
    for (const child of bare) child.kill('SIGKILL');
    await ended;
  }
}

function startBareNode(): ChildProcess {
  return spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
}

async function waitForTool(others: ReadonlySet<number>): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end;) {
    const isThere = listProcesses().some((pid) => !others.has(pid) && commandLine(pid).trim() === WAITING);
    if (isThere) return;
    await setTimeout(50);
  }
  throw new Error(`the tool did not start within ${PATIENCE_MS} ms`);
}

const listProcesses = (): number[] =>
  readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it ended while we looked
  }
}

function sumMb(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => {
    const found = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
    return Number(found?.[1] ?? 0);
  });
  return kilobytes.reduce((sum, size) => sum + size, 0) / 1024;
}
