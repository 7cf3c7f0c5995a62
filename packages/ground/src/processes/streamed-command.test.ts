import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

import { expect, test } from 'vitest';

import {
  streamCommand,
  type StreamedCommandOptions,
  type StreamedCommandResult,
} from './streamed-command.ts';

function openShell(script: string, options: Partial<StreamedCommandOptions> = {}) {
  const endings: StreamedCommandResult[] = [];
  const command = { file: 'sh', args: ['-c', script], timeoutMs: 20_000, maxErrorBytes: 1000, ...options };
  return { pieces: streamCommand(command, (ending) => void endings.push(ending)), endings };
}

async function readFirst(pieces: AsyncGenerator<Buffer, void>): Promise<Buffer> {
  const { value } = await pieces.next();
  return value ?? Buffer.alloc(0);
}

const writtenBy = (pid: number): number =>
  Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);

/** A zombie counts as gone. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('the program waits for its reader: what it wrote and nobody read is less than 1 MB at any time', async () => {
  const { pieces, endings } = openShell('echo $$; exec head -c 50000000 /dev/zero');
  let seen = 0;
  let ahead = 0;
  let pid = 0;
  for await (const piece of pieces) {
    if (pid === 0) {
      pid = Number.parseInt(piece.toString(), 10);
      expect(isAlive(pid), 'it has more to write than a pipe takes').toBe(true);
    }
    seen += piece.length;
    await setImmediate();
    if (isAlive(pid)) ahead = Math.max(ahead, writtenBy(pid) - seen);
  }
  expect(seen).toBe(50_000_000 + `${pid}\n`.length);
  expect(ahead).toBeLessThan(1_000_000);
  expect(endings).toMatchObject([{ exitCode: 0, timedOut: false, aborted: false }]);
});

test('an exit code and what the program said are given after the last piece', async () => {
  const { pieces, endings } = openShell('echo some; echo problem >&2; exit 7');
  expect((await readFirst(pieces)).toString()).toBe('some\n');
  expect(await pieces.next()).toEqual({ value: undefined, done: true });
  expect(endings).toEqual([
    { exitCode: 7, signal: null, timedOut: false, aborted: false, stderr: Buffer.from('problem\n') },
  ]);
});

test('a reader that stops early ends a program that ignores SIGTERM, and the group with it', async () => {
  const script = `trap '' TERM; sleep 1000 & echo $$ $!; while :; do sleep 0.05; done`;
  const { pieces, endings } = openShell(script, { graceMs: 100 });
  const pids = (await readFirst(pieces)).toString().trim().split(' ').map(Number);
  expect(pids.map(isAlive)).toEqual([true, true]);
  await pieces.return();
  await expect.poll(() => pids.some(isAlive), { timeout: 5000 }).toBe(false);
  expect(endings).toEqual([]);
});

test('a program that writes no more is ended by the time limit, which the time of the reader is no part of', async () => {
  const { pieces, endings } = openShell('echo some; read -r line; echo "$line"; sleep 1000', {
    timeoutMs: 500,
    stdin: 'more\n',
  });
  const seen: string[] = [];
  for await (const piece of pieces) {
    seen.push(piece.toString());
    const busyUntil = performance.now() + 700;
    while (performance.now() < busyUntil) await setImmediate();
  }
  expect(seen.join('')).toBe('some\nmore\n');
  expect(endings).toMatchObject([{ signal: 'SIGTERM', timedOut: true, aborted: false }]);
});

test('an abort ends the program while its reader waits', async () => {
  const controller = new AbortController();
  const { pieces, endings } = openShell('echo up; sleep 1000', { signal: controller.signal });
  await readFirst(pieces);
  const next = pieces.next();
  controller.abort();
  expect(await next).toEqual({ value: undefined, done: true });
  expect(endings).toMatchObject([{ signal: 'SIGTERM', timedOut: false, aborted: true }]);
});

test('a time limit of zero is refused', async () => {
  await expect(openShell('true', { timeoutMs: 0 }).pieces.next()).rejects.toThrow(RangeError);
});
