/** What a judged tool call and a write to the board cost. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBoard } from '../packages/ground/src/session/board.ts';
import type { BenchRow } from './bench-row.ts';

const INSIDE = fileURLToPath(new URL('../packages/cli/dist/inside.pl', import.meta.url));
const ROUNDS = 25;
const WRITES = 200;
const CALL = '{"tool_name":"Bash","tool_input":{"command":"npm test"}}';

export async function run(): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-coordination-'));
  try {
    return [await measureGate(folder), await measureBoard(folder)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A hook is a program started per call; most are written in Node. */
async function measureGate(folder: string): Promise<BenchRow> {
  const socket = join(folder, 'tools.sock');
  const server = createServer((client) => client.once('data', () => client.end('allow\n')));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const empty = join(folder, 'empty.mjs');
  await writeFile(empty, '');
  const gate: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    gate.push(await time('/usr/bin/perl', INSIDE, 'gate', socket));
    bare.push(await time(process.execPath, empty));
  }
  server.close();
  const [value, peerValue] = [median(gate), median(bare)];
  return row(
    'gate: one judged tool call, p50',
    value,
    'ms',
    'node with an empty file',
    peerValue,
    '<= 0.5x',
    value <= peerValue * 0.5,
  );
}

async function measureBoard(folder: string): Promise<BenchRow> {
  const board = openBoard(join(folder, 'board.json'));
  const plain = join(folder, 'plain.json');
  const locked = await perSecond((index) =>
    board.write({ key: `k${index % 50}`, value: index, by: { runId: null } }),
  );
  const bare = await perSecond((index) => writeFile(plain, JSON.stringify({ [`k${index % 50}`]: index })));
  return row(
    'board: locked, atomic writes of one process',
    locked,
    '/s',
    'fs.writeFile, no lock',
    bare,
    '>= 0.3x',
    locked >= bare * 0.3,
  );
}

async function time(file: string, ...args: string[]): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.on('error', () => undefined); // the empty program never reads
  child.stdin.end(CALL);
  await once(child, 'exit');
  return performance.now() - startedAt;
}

async function perSecond(write: (index: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  for (let index = 0; index < WRITES; index += 1) await write(index);
  return Math.round(WRITES / ((performance.now() - startedAt) / 1000));
}

function median(values: readonly number[]): number {
  const middle = values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
  return Math.round(middle * 10) / 10;
}

function row(
  name: string,
  value: number,
  unit: string,
  peer: string,
  peerValue: number,
  target: string,
  met: boolean,
): BenchRow {
  return {
    name,
    value,
    unit,
    peer,
    peerValue,
    ratio: Math.round((value / peerValue) * 100) / 100,
    target,
    met,
  };
}
