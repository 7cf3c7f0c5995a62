import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBoard } from './board.ts';
import { createManualClock } from '../platform/clock.ts';
import { openContextRegistry } from './context-registry.ts';
import { LockTimeoutError, withFileLock } from '../files/file-lock.ts';

const run = promisify(execFile);
const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', name);
const by = { runId: null };
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'board-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the board', () => {
  it('keeps the last write of a key, and every item of a key that is appended to', async () => {
    const board = openBoard(join(folder, 'board.json'), createManualClock(0));
    await board.write({ key: 'port', value: 1, by });
    await board.write({ key: 'port', value: 2, by });
    await board.write({ namespace: 'notes', key: 'log', value: 'a', mode: 'append', by });
    await board.write({ namespace: 'notes', key: 'log', value: 'b', by });
    const at = '1970-01-01T00:00:00.000Z';
    expect(await board.read()).toEqual([
      { namespace: 'default', key: 'port', mode: 'last-write-wins', items: [{ value: 2, by, at }] },
      {
        namespace: 'notes',
        key: 'log',
        mode: 'append',
        items: [
          { value: 'a', by, at },
          { value: 'b', by, at },
        ],
      },
    ]);
  });

  it('is left as it is by a write that could not be read', async () => {
    const board = openBoard(join(folder, 'board.json'));
    await board.write({ key: 'port', value: 1, by });
    const anonymous = { key: 'port', value: 2 } as Parameters<typeof board.write>[0];
    await expect(board.write(anonymous)).rejects.toMatchObject({
      code: 'SHARED_FILE_INVALID',
      message: expect.stringContaining('by') as string,
    });
    expect(await board.read()).toMatchObject([{ items: [{ value: 1 }] }]);
  });

  it('forgets what has outlived its time', async () => {
    const clock = createManualClock();
    const board = openBoard(join(folder, 'board.json'), clock);
    await board.write({ key: 'short', value: 1, ttlMs: 1000, by });
    await board.write({ key: 'log', value: 'old', mode: 'append', ttlMs: 1000, by });
    await board.write({ key: 'log', value: 'new', by });
    clock.advance(1000);
    const left = await board.read();
    expect(left.map((entry) => [entry.key, entry.items.map((item) => item.value)])).toEqual([
      ['log', ['new']],
    ]);
  });

  it('refuses a write that would lose what others appended', async () => {
    const board = openBoard(join(folder, 'board.json'));
    await board.write({ key: 'log', value: 1, mode: 'append', by });
    await expect(board.write({ key: 'log', value: 2, mode: 'last-write-wins', by })).rejects.toThrow(
      'would lose',
    );
  });

  it('takes names of the language for names', async () => {
    const board = openBoard(join(folder, 'board.json'));
    await board.write({ namespace: 'constructor', key: 'toString', value: 1, by });
    const [entry] = await board.read({ namespace: 'constructor', key: 'toString' });
    expect(entry?.items[0]?.value).toBe(1);
    await expect(board.write({ key: '__proto__', value: 1, by })).rejects.toThrow('not a valid name');
  });

  it('loses nothing of several processes that write at once', async () => {
    const file = join(folder, 'board.json');
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(
      names.map((name) => run(process.execPath, [fixture('write-board.ts'), file, name, '50'])),
    );
    const [log] = await openBoard(file).read({ key: 'log' });
    const values = log?.items.map((item) => String(item.value)) ?? [];
    expect(values).toHaveLength(200);
    for (const name of names) {
      const own = values.filter((value) => value.startsWith(`${name}-`));
      expect(own).toEqual(Array.from({ length: 50 }, (_, index) => `${name}-${index}`));
    }
    expect(readdirSync(folder)).toEqual(['board.json']);
  });
});

describe('writers that are killed', () => {
  it('lose nothing that they had written, and block no other', { timeout: 60_000 }, async () => {
    const file = join(folder, 'board.json');
    const rounds = Array.from({ length: 4 }, (_, index) => index);
    const written = await Promise.all(
      rounds.map(async (round) => {
        const name = `writer-${round}`;
        const child = spawn(process.execPath, [fixture('write-board-forever.ts'), file, name], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        let said = '';
        child.stdout.on('data', (chunk: Buffer) => {
          said += chunk.toString('utf8');
          if (said.split('\n').length > 5 + 7 * round) child.kill('SIGKILL');
        });
        await once(child, 'close');
        return { name, count: said.split('\n').length - 1 };
      }),
    );
    const board = openBoard(file);
    for (const { name, count } of written) {
      const [entry] = await board.read({ key: name });
      const values = entry?.items.map((item) => item.value) ?? [];
      // The last write may have reached the file before its writer could say so.
      expect(values.slice(0, count)).toEqual(Array.from({ length: count }, (_, index) => index));
      expect(values.length).toBeLessThanOrEqual(count + 1);
    }
    await board.write({ key: 'after', value: true, by });
    expect(await board.read({ key: 'after' })).toHaveLength(1);
  });
});

describe('the lock', () => {
  it('is taken from a writer that was killed while it held it', async () => {
    const lock = join(folder, 'lock');
    await killHolder(lock);
    expect(await withFileLock(lock, () => 'inside')).toBe('inside');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is taken by exactly one of many who find a dead holder', async () => {
    const file = join(folder, 'board.json');
    await killHolder(`${file}.lock`);
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) =>
        run(process.execPath, [fixture('write-board.ts'), file, name, '10']),
      ),
    );
    const [log] = await openBoard(file).read({ key: 'log' });
    expect(log?.items).toHaveLength(40);
    expect(readdirSync(folder)).toEqual(['board.json']);
  });

  it('can be taken although the one who buried a dead holder died too', async () => {
    const lock = join(folder, 'lock');
    const token = await killHolder(lock);
    await killHolder(`${lock}.removeDeadLock-${token}`);
    expect(await withFileLock(lock, () => 'inside')).toBe('inside');
  });

  it.each(['', '\0\0', '{"token":"../../x","pid":1', '{"token":"../../x","pid":1}'])(
    'is taken where a power cut left %j in its file',
    async (left) => {
      const lock = join(folder, 'lock');
      writeFileSync(lock, left);
      expect(await Promise.all([1, 2, 3].map((name) => withFileLock(lock, () => name)))).toEqual([1, 2, 3]);
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it('is not taken from a living holder', async () => {
    const lock = join(folder, 'lock');
    const holder = await startHolder(lock);
    await expect(withFileLock(lock, () => 'inside', { waitMs: 100 })).rejects.toThrow(LockTimeoutError);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
  });

  it('is waited for no longer than the signal allows', async () => {
    const lock = join(folder, 'lock');
    const stop = new AbortController();
    await withFileLock(lock, async () => {
      const waiting = withFileLock(lock, () => 'inside', { signal: stop.signal });
      stop.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
    });
  });
});

describe('the context registry', () => {
  it('numbers findings and keeps their source and time', async () => {
    const registry = openContextRegistry(join(folder, 'context.json'), createManualClock(0));
    const source = { runId: 'run_00000000000000000000', attempt: 1, agent: 'scout' };
    await registry.report({ key: 'entry', value: { file: 'src/main.ts' }, source });
    await registry.report({ key: 'risk', value: 'none', source: by });
    const at = '1970-01-01T00:00:00.000Z';
    expect(await registry.read()).toEqual([
      { seq: 1, key: 'entry', value: { file: 'src/main.ts' }, source, at },
      { seq: 2, key: 'risk', value: 'none', source: by, at },
    ]);
    expect(await registry.read({ key: 'risk' })).toHaveLength(1);
    expect(await registry.read({ after: 2 })).toEqual([]);
  });
});

async function startHolder(lock: string) {
  const child = spawn(process.execPath, [fixture('hold-lock.ts'), lock], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

/** Leaves the lock of a process that is dead; returns its token. */
async function killHolder(lock: string): Promise<string> {
  const child = await startHolder(lock);
  const own = readdirSync(folder).find((name) =>
    new RegExp(`^${lock.split('/').at(-1)}\\.[0-9a-f]{24}$`).test(name),
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  return own?.split('.').at(-1) ?? '';
}
