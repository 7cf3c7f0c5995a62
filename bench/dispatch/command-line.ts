// `caisson run` from the shell's side: everything between the word and the prompt, ledger and seal included.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { measureInTurns } from '../alternate.ts';
import type { BenchRow } from '../bench-row.ts';
import { createScratch, timeProgram, type Scratch } from './scratch.ts';

const ROUNDS = 15;
const FILES = 700;
const CLI = fileURLToPath(new URL('../../packages/cli/bin/caisson.js', import.meta.url));
const RUN = ['run', '--runtime', 'command', '--workspace'];

export async function measureCommandLine(): Promise<BenchRow[]> {
  const scratch = createScratch('command-line');
  const repository = createScratch('repository');
  const [small, served, servedSmall] = ['small', 'served', 'served-small'].map(createScratch) as Three;
  const all = { scratch, repository, small, served, servedSmall };
  const daemons = [served, servedSmall];
  try {
    await makeRepository(repository, FILES);
    for (const each of [small, servedSmall]) await makeRepository(each, 1);
    for (const each of daemons) await caisson(each, 'up', '-d');
    return await measure(all);
  } finally {
    for (const each of daemons) await caisson(each, 'down', '--now');
    for (const each of Object.values(all)) each.remove();
  }
}

type Three = [Scratch, Scratch, Scratch];

const caisson = (scratch: Scratch, ...args: string[]): Promise<number> =>
  timeProgram(process.execPath, [CLI, ...args], scratch);

async function measure({
  scratch,
  repository,
  small,
  served,
  servedSmall,
}: Record<'scratch' | 'repository' | 'small' | 'served' | 'servedSmall', Scratch>): Promise<BenchRow[]> {
  const node = (...args: string[]): Promise<number> => timeProgram(process.execPath, args, scratch);
  const asked = (...args: string[]): Promise<number> => caisson(served, ...args);
  let worktrees = 0;
  const ms = await measureInTurns(ROUNDS, {
    three: async () => (await node('-e', '0')) + (await node('-e', '0')) + (await node('-e', '0')),
    empty: () => node(CLI, ...RUN, 'empty', '--', 'true'),
    one: () => node('-e', '0'),
    version: () => node(CLI, 'version'),
    runs: () => node(CLI, 'runs'),
    literal: () => caisson(small, 'run', '--', 'true'),
    servedLiteral: () => caisson(servedSmall, 'run', '--', 'true'),
    servedEmpty: () => asked(...RUN, 'empty', '--', 'true'),
    servedRuns: () => asked('runs'),
    worktree: () => timeProgram(process.execPath, [CLI, ...RUN, 'worktree', '--', 'true'], repository),
    add: () => addWorktree(repository, (worktrees += 1)),
  });
  return [
    ratioRow('caisson run --workspace empty -- true', ms.empty, {
      peer: 'node -e 0 three times in a row (host, worker, agent)',
      peerMs: ms.three,
      atMost: 1.9,
    }),
    ratioRow('caisson run -- true, in a repository of one file', ms.literal, {
      peer: 'node -e 0 three times in a row',
      peerMs: ms.three,
      atMost: 1.9,
    }),
    ratioRow('caisson run -- true, in a repository of one file, through a daemon', ms.servedLiteral, {
      peer: 'node -e 0 three times in a row',
      peerMs: ms.three,
      atMost: 1.3,
    }),
    ratioRow(`run a command in a worktree of ${FILES} files, end to end`, ms.worktree, {
      peer: '2.0 times three nodes plus 1.5 times git worktree add',
      peerMs: 2 * ms.three + 1.5 * ms.add,
      atMost: 1,
    }),
    ratioRow('caisson run --workspace empty -- true, through a daemon', ms.servedEmpty, {
      peer: 'node -e 0 three times in a row',
      peerMs: ms.three,
      atMost: 1.3,
    }),
    extraRow('caisson version', ms.version, ms.one, 10),
    extraRow('caisson runs', ms.runs, ms.one, 25),
    extraRow('caisson runs, through a daemon', ms.servedRuns, ms.one, 25),
  ];
}

function ratioRow(
  what: string,
  value: number,
  against: { peer: string; peerMs: number; atMost: number },
): BenchRow {
  const ratio = value / against.peerMs;
  return {
    name: `dispatch: ${what}`,
    value,
    unit: 'ms p50',
    peer: against.peer,
    peerValue: against.peerMs,
    ratio,
    target: `<= ${against.atMost.toFixed(1)}x`,
    met: ratio <= against.atMost,
  };
}

function extraRow(command: string, value: number, bareMs: number, mostMs: number): BenchRow {
  return {
    name: `command line: ${command}`,
    value,
    unit: 'ms p50',
    peer: 'node -e 0',
    peerValue: bareMs,
    ratio: value / bareMs,
    target: `at most ${mostMs} ms more`,
    met: value - bareMs <= mostMs,
  };
}

async function makeRepository(repository: Scratch, files: number): Promise<void> {
  const git = (...args: string[]): Promise<number> => timeProgram('git', args, repository);
  await git('init', '-q', '-b', 'main');
  for (let index = 0; index < files; index += 1)
    writeFileSync(
      join(repository.project, `file-${index}.ts`),
      `export const value = ${index};\n`.repeat(40),
    );
  await git('add', '.');
  await git('-c', 'user.name=b', '-c', 'user.email=b@example.com', 'commit', '-q', '-m', 'first');
}

/** What git alone takes; its clean-up is not measured. */
async function addWorktree(repository: Scratch, number: number): Promise<number> {
  const folder = join(repository.root, `worktree-${number}`);
  const ms = await timeProgram('git', ['worktree', 'add', '-q', '--detach', folder], repository);
  rmSync(folder, { recursive: true, force: true });
  await timeProgram('git', ['worktree', 'prune'], repository);
  return ms;
}
