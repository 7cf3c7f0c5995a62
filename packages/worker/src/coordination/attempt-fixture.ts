/** An attempt for tests around an agent: real files, a host whose answers the test chooses. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRedactor } from '@caisson/ground';
import type { Job, WorkerSaying } from '@caisson/protocol';
import { createGathered, type AttemptContext } from '../attempt/index.ts';
import type { HostReply } from './host-requests.ts';

/** Both clients of the worker's socket. */
export const SHIMS = {
  perl: ['/usr/bin/perl', join(import.meta.dirname, '../inside/inside.pl')],
  node: [process.execPath, join(import.meta.dirname, '../inside/tool-shim.ts')],
};

export interface AttemptFixture {
  readonly context: AttemptContext;
  readonly folder: string;
  readonly said: WorkerSaying[];
  readonly kills: number;
  stop(): void;
  remove(): void;
}

export interface FixtureOptions {
  readonly mode?: Job['grant']['mode'];
  readonly tools?: readonly string[];
  readonly rules?: Job['rules'];
  readonly secrets?: Job['secrets'];
  readonly shim?: keyof typeof SHIMS;
  /** `null` never answers. */
  answer?(request: Extract<WorkerSaying, { kind: 'request' }>): HostReply | null;
}

export function createAttemptFixture(options: FixtureOptions = {}): AttemptFixture {
  const folder = mkdtempSync(join(tmpdir(), 'coordination-'));
  for (const name of ['mailbox', 'spool']) mkdirSync(join(folder, name));
  const stop = new AbortController();
  const said: WorkerSaying[] = [];
  const listeners: ((reply: { id: string } & HostReply) => void)[] = [];
  let kills = 0;
  const say = (line: WorkerSaying): void => {
    said.push(line);
    if (line.kind !== 'request') return;
    const reply = options.answer?.(line) ?? null;
    if (reply !== null)
      queueMicrotask(() => listeners.forEach((receive) => receive({ id: line.id, ...reply })));
  };
  const context = {
    job: {
      runId: 'run_00000000000000000000',
      attempt: 1,
      agent: 'tester',
      runtime: { name: 'claude-code', bin: 'claude', settings: {} },
      grant: { mode: options.mode ?? 'auto-edit', tools: options.tools ?? [], sandbox: 'none' },
      rules: options.rules ?? [],
      workspace: { cwd: folder },
      sandbox: {
        home: join(folder, 'home'),
        node: process.execPath,
        programs: { toolShim: SHIMS[options.shim ?? 'perl'] },
      },
      paths: {
        mailbox: join(folder, 'mailbox'),
        spool: join(folder, 'spool'),
        board: join(folder, 'board.json'),
        context: join(folder, 'context.json'),
      },
    },
    writer: { write: say, header: () => undefined, close: () => Promise.resolve() },
    control: {
      stop: stop.signal,
      waitForGo: () => Promise.resolve(),
      onMessage: () => undefined,
      onReply: (listener: (reply: { id: string } & HostReply) => void) => listeners.push(listener),
      reportHostLost: () => undefined,
      close: () => undefined,
    },
    redactor: createRedactor(options.secrets ?? []),
    gathered: createGathered(),
    running: { kill: () => (kills += 1) },
    ...{ heldCalls: 0, openRequests: new Map() },
  } as unknown as AttemptContext;
  return {
    context,
    folder,
    said,
    get kills() {
      return kills;
    },
    stop: () => stop.abort({ kind: 'stop', reason: 'user', graceMs: 0 }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
