/** A project with a real ledger, in which roles run without processes, runs end when a test says so, and hosts die. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock, systemClock, type Clock, type ManualClock } from '@caisson/ground';
import type { DispatchResult, ThreadRow, Workflow } from '@caisson/protocol';
import { onTestFinished } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import type { DispatchRequest } from '../admission/index.ts';
import { createFeed, createRecorder, nextChange, openLedger } from '../ledger/index.ts';
import { createQuestions } from '../questions/index.ts';
import { FakeRuntime } from './fake-runtime-stage.ts';
import type { ThreadSettings } from './thread-rooms.ts';
import { createThreads } from './threads.ts';

export const USER = { trigger: { kind: 'user' }, payload: null, causes: [] } as const;

export const SETTINGS: ThreadSettings = {
  concurrency: 1,
  overflow: 'queue',
  maxQueue: 100,
  maxRounds: 50,
  timeoutMs: 3_600_000,
  graceMs: 1000,
  mode: 'auto-edit',
  runHosts: ['registry.example:443'],
  runBudgetUsd: 2,
  runTokens: null,
};

export type Stage = ReturnType<typeof openStage>;

/** What all hosts of a stage share. */
function openProject(workflows: Record<string, Workflow>, settings: ThreadSettings, clock: Clock) {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-threads-'));
  const file = join(folder, 'ledger.db');
  const ledger = openLedger(file);
  const requests: DispatchRequest[] = [];
  const cancelled: string[] = [];
  /** Of each run, before its id. */
  const reply = { text: 'reply of ' };
  const warnings: string[] = [];
  const hosts = new Set<{ stop(): Promise<void> }>();
  /** Why the ledger accepts nothing from the hosts now. */
  const outage: { error: Error | null } = { error: null };
  /** A dispatch is accepted when this is over. */
  const accepting = { gate: Promise.resolve() };
  const recordOf = (runId: string) => createRecorder({ ledger, clock }).of(runId);
  onTestFinished(async () => {
    for (const each of hosts) await each.stop();
    await ledger.close();
    rmSync(folder, { recursive: true });
  });
  return {
    ...{
      workflows,
      settings,
      clock,
      file,
      ledger,
      requests,
      cancelled,
      reply,
      warnings,
      hosts,
      outage,
      accepting,
    },
    async endRun(runId: string, type: 'dispatch.finished' | 'dispatch.cancelled' = 'dispatch.finished') {
      await recordOf(runId).append(type, SAMPLE_DATA[type], { attempt: 0 });
    },
    async accept(request: DispatchRequest): Promise<{ runId: string }> {
      requests.push(request);
      await accepting.gate;
      const { runId = '', idempotencyKey } = request;
      const data = { ...SAMPLE_DATA['dispatch.accepted'], idempotencyKey };
      await recordOf(runId).append('dispatch.accepted', data, { attempt: 0 });
      return { runId };
    },
    async until(isSo: () => boolean): Promise<void> {
      while (!isSo()) await nextChange({ ledger, clock: systemClock });
    },
  };
}

type Project = ReturnType<typeof openProject>;

/** What a process does has no effect after its end. */
function createLife(clock: Clock) {
  const life = { isOver: false };
  const writing = new Set<Promise<unknown>>();
  const own: Clock = {
    ...clock,
    setTimer: (ms, fn) => clock.setTimer(ms, () => void (life.isOver || fn())),
  };
  return {
    clock: own,
    whileAlive<T>(work: () => Promise<T>): Promise<T> {
      if (life.isOver) return new Promise<T>(() => undefined);
      const answer = work();
      const written: Promise<unknown> = answer.catch(() => undefined).then(() => writing.delete(written));
      writing.add(written);
      return answer;
    },
    /** What is being written is written or not before the next host begins. */
    async end(): Promise<void> {
      life.isOver = true;
      await Promise.all(writing);
    },
  };
}

/** A host of its own. `kill` leaves it as it is. */
function openHost(project: Project) {
  const { ledger, workflows, hosts, cancelled, warnings } = project;
  const { clock, whileAlive, end } = createLife(project.clock);
  const append: typeof ledger.append = (...call) =>
    whileAlive(() =>
      project.outage.error === null ? ledger.append(...call) : Promise.reject(project.outage.error),
    );
  const recorder = createRecorder({ ledger: { append }, clock });
  const feed = createFeed({ ledger, recorder, clock });
  const runtime = new FakeRuntime(workflows);
  const threads = createThreads({
    ...{ clock, ledger, recorder, feed, runtime, projectRoot: '/project', depth: 2 },
    findWorkflow: (name) => (name in workflows ? project.settings : null),
    dispatch: (request) => whileAlive(() => project.accept(request)),
    measurePatch: async () => 0,
    describeRun: async (runId) => ({
      ...describeRun(runId, ledger.run(runId)?.status ?? 'error'),
      reply: `${project.reply.text}${runId}`,
    }),
    async cancelRun(runId) {
      cancelled.push(runId);
      await project.endRun(runId, 'dispatch.cancelled');
    },
    warn: (message) => void warnings.push(message),
  });
  const host = {
    ...{ recorder, feed, runtime, threads },
    async stop(): Promise<void> {
      hosts.delete(host);
      await threads.stop();
      feed.stop();
    },
    async kill(): Promise<void> {
      runtime.kill();
      hosts.delete(host);
      feed.stop();
      await end();
    },
  };
  hosts.add(host);
  return host;
}

export function openStage(
  workflows: Record<string, Workflow>,
  settings: Partial<ThreadSettings> = {},
  clock: Clock = systemClock,
) {
  const project = openProject(workflows, { ...SETTINGS, ...settings }, clock);
  const { ledger, until } = project;
  const host = openHost(project);
  return {
    ...project,
    ...host,
    openHost: () => openHost(project),
    /** Starts a thread and resolves with its id. */
    async start(extra: Partial<Parameters<typeof host.threads.start>[0]> = {}): Promise<string> {
      const started = await host.threads.start({ workflow: 'fix', ...USER, ...extra });
      if ('dropped' in started) throw new Error(`it was dropped: ${started.dropped}`);
      return started.threadId;
    },
    async untilStatus(threadId: string, ...status: ThreadRow['status'][]): Promise<ThreadRow> {
      await until(() => status.includes(ledger.thread(threadId)?.status ?? 'queued'));
      const row = ledger.thread(threadId);
      if (row === null) throw new Error('the thread is gone');
      return row;
    },
    questions: openQuestions(project),
  };
}

/** As any process of the project answers. */
function openQuestions({ ledger, clock }: Project) {
  return createQuestions<string>({
    ...{ clock, ledger, hostId: 'host_cli', recorder: createRecorder({ ledger, clock }) },
    isHostAlive: async () => true,
    resolveRun: (given) => given,
    isForgotten: () => false,
    beginRun: () => Promise.resolve(),
    requireContents: () => undefined,
    readRequest: () => Promise.reject(new Error('no run has asked')),
    continueRun: () => Promise.reject(new Error('no run has asked')),
  });
}

/** A stage whose time stands still until the test moves it. */
export function openStill(workflows: Record<string, Workflow>, settings: Partial<ThreadSettings> = {}) {
  const clock: ManualClock = createManualClock();
  return { ...openStage(workflows, settings, clock), clock };
}

/** A workflow with one role that ends after its first message. */
export function oneRole(role: Workflow['roles'][string]): Record<string, Workflow> {
  return { fix: { roles: { role }, route: ({ messages }) => (messages.length === 0 ? 'role' : null) } };
}

function describeRun(runId: string, status: DispatchResult['status']): DispatchResult {
  return {
    ...{ runId, status, exitCode: 0, stdout: '', stderr: '', reply: '' },
    resolved: { capabilities: [], env: [], model: { requested: '', served: [] } },
    result: null,
    events: { count: 1, lastSeq: 1 },
  };
}
