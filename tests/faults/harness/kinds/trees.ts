/** A random process tree that tries to be missed, and an ending: nothing of it may be left. */
import { existsSync } from 'node:fs';
import { openProject, finish, pidsWith, until, type Project } from '../../../e2e/open-project.ts';
import { findWorker, slowness } from '../../processes.ts';
import { growTree } from '../../process-trees.ts';
import { choose, chooseNumber } from '../choose.ts';
import type { Findings, Kind, Random } from '../contract.ts';
import { killQuietly } from '../stage.ts';

const GRACE_MS = 500;
/** An ending that waits for the tree, and a kill that does not, have so long on a quiet machine. */
const SETTLE_LIMIT_MS = 2000;
const KILL_LIMIT_MS = 2000;

export type TreeEnding = 'timeout' | 'cancel' | 'kill-host' | 'kill-worker' | 'kill-both';
export type TreeSandbox = 'bwrap' | 'none';
export const TREE_ENDINGS: [TreeEnding, ...TreeEnding[]] = [
  ...(['timeout', 'cancel', 'kill-host', 'kill-worker', 'kill-both'] as const),
];
export const TREE_SANDBOXES: [TreeSandbox, ...TreeSandbox[]] = ['bwrap', 'none'];

export interface TreeCase {
  readonly ending: TreeEnding;
  readonly sandbox: TreeSandbox;
  readonly random: Random;
}

export const trees: Kind = {
  name: 'trees',
  summary: 'process trees that try to survive',
  isUsual: true,
  findObstacle: () => (existsSync('/usr/bin/perl') ? null : 'perl is missing'),
  plan(random) {
    const ending = choose(random, TREE_ENDINGS);
    const sandbox = choose(random, TREE_SANDBOXES);
    return {
      name: `tree ended by ${ending} (sandbox ${sandbox})`,
      run: () => endTree({ ending, sandbox, random }),
    };
  },
};

export async function endTree(each: TreeCase): Promise<Findings> {
  const ends: (() => void)[] = [];
  const config = `limits: { grace: ${GRACE_MS}ms }\n`;
  const project = openProject({ git: false, config }, (end) => ends.push(end));
  try {
    await project.trust();
    return { outcome: 'interrupted', struck: 1, missed: 0, violations: await growAndEnd(project, each) };
  } finally {
    for (const end of ends.toReversed()) end();
  }
}

async function growAndEnd(project: Project, { ending, sandbox, random }: TreeCase): Promise<string[]> {
  const mark = `9${String(process.pid).padStart(7, '0')}${chooseNumber(random, 1000, 9999)}`;
  const tree = growTree(random, mark, `${project.root}/ready`);
  const timeoutMs = Math.ceil(2 * slowness()) * 1000; // the tree has to stand before
  const timeout = ending === 'timeout' ? ['--timeout', `${timeoutMs}ms`] : [];
  const child = project.start(
    ...['run', '-o', 'json', '--retries', '0', '--sandbox', sandbox, ...timeout],
    ...['--', 'bash', '-c', tree.program],
  );
  const ended = finish(child);
  // Each tree is proven to have run: everything it was to start is seen before it is ended.
  await until(
    `the tree stands: ${tree.program}`,
    () => existsSync(`${project.root}/ready`) && pidsWith(`sleep ${mark}`).length >= tree.sleepers,
  );
  const startedMs = performance.now();
  endBy(ending, child.pid ?? 0);
  if (ending === 'timeout' || ending === 'cancel') {
    await ended;
    const limitMs = (ending === 'timeout' ? timeoutMs : 0) + GRACE_MS + SETTLE_LIMIT_MS * slowness();
    return judge(tree.program, mark, performance.now() - startedMs, limitMs);
  }
  const limitMs = KILL_LIMIT_MS * slowness();
  await until('the tree is gone', () => pidsWith(mark).length === 0, limitMs).catch(() => undefined);
  const tookMs = performance.now() - startedMs;
  await ended;
  return judge(tree.program, mark, tookMs, limitMs);
}

function endBy(ending: TreeEnding, host: number): void {
  if (ending === 'cancel') killQuietly(host, 'SIGTERM');
  if (ending === 'kill-both') killQuietly(host, 'SIGSTOP'); // so that neither sees the other's end
  if (ending === 'kill-worker' || ending === 'kill-both') killQuietly(findWorker(host));
  if (ending === 'kill-host' || ending === 'kill-both') killQuietly(host);
}

function judge(program: string, mark: string, tookMs: number, limitMs: number): string[] {
  const left = pidsWith(mark);
  return [
    ...(left.length === 0 ? [] : [`survivors: ${left.length} of ${program}`]),
    ...(tookMs <= limitMs ? [] : [`in-time: ${Math.round(tookMs)} ms, the limit is ${Math.round(limitMs)}`]),
  ];
}
