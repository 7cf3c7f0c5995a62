// What `caisson top` costs while it only looks: CPU of its process on a pseudo-terminal, with no run and with 16 that run,
// without a daemon and with one.
// The peer is top of procps with the same interval, on the same machine at the same time. Needs a build.
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { openProject, type Project } from '../tests/e2e/open-project.ts';
import type { BenchRow } from './bench-row.ts';
import { readCpuMs } from './read-cpu.ts';

const CLI = fileURLToPath(new URL('../packages/cli/bin/caisson.js', import.meta.url));
const RUNS = 16;
const SETTLE_MS = 15_000;
const WATCHED_MS = 30_000;
const MOST_PERCENT = 2;
const BUSY = ['--workspace', 'empty', '--', 'sh', '-c', 'while true; do echo line; sleep 1; done'];

export async function run(): Promise<BenchRow[]> {
  const ends: (() => void)[] = [];
  const project = openProject({ config: `limits: { concurrency: ${RUNS} }\n` }, (end) => ends.push(end));
  try {
    await succeed(project, 'run', '--', 'true'); // makes the state folder
    const idle = await measure('without a run', project);
    const alone = await measureWith('without a daemon', project);
    await succeed(project, 'up', '-d');
    return [idle, alone, await measureWith('of a daemon', project)];
  } finally {
    await project.caisson('down', '--now');
    for (const end of ends.toReversed()) end();
  }
}

async function measureWith(what: string, project: Project): Promise<BenchRow> {
  const ids: string[] = [];
  while (ids.length < RUNS) ids.push((await succeed(project, 'run', '--detach', ...BUSY)).trim());
  try {
    return await measure(`with ${RUNS} runs that print, ${what}`, project);
  } finally {
    for (const id of ids) await project.caisson('cancel', id, '--force');
  }
}

async function succeed(project: Project, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await project.caisson(...args);
  if (code !== 0) throw new Error(`caisson ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

async function measure(when: string, project: Project): Promise<BenchRow> {
  const ours = openOnTerminal(`${process.execPath} ${CLI} top`, 'ours', project);
  const peer = openOnTerminal('top -d 1', 'peer', project);
  try {
    await setTimeout(SETTLE_MS);
    const before = [readCpuMs(ours.pid()), readCpuMs(peer.pid())] as const;
    await setTimeout(WATCHED_MS);
    const percent = (pid: number, earlierMs: number): number =>
      ((readCpuMs(pid) - earlierMs) / WATCHED_MS) * 100;
    const [value, peerValue] = [percent(ours.pid(), before[0]), percent(peer.pid(), before[1])];
    return {
      name: `top: CPU of caisson top ${when} (${WATCHED_MS / 1000} s)`,
      value,
      unit: '% of a core',
      peer: 'top -d 1 of procps',
      peerValue,
      ratio: value / peerValue,
      target: `< ${MOST_PERCENT} %`,
      met: value < MOST_PERCENT,
    };
  } finally {
    ours.child.kill('SIGKILL');
    peer.child.kill('SIGKILL');
  }
}

/** `script` gives it a terminal; the shell writes its pid before it becomes the program. */
function openOnTerminal(
  line: string,
  name: string,
  { root, env }: Project,
): { readonly child: ChildProcess; pid(): number } {
  const file = join(root, `${name}.pid`);
  const child = spawn(
    'script',
    ['-qfec', `stty rows 40 cols 120; echo $$ > ${file}; exec ${line}`, '/dev/null'],
    {
      cwd: root,
      env: { ...env, SHELL: '/bin/sh', TERM: 'xterm', CI: '' },
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  return { child, pid: () => Number(readFileSync(file, 'utf8')) };
}
