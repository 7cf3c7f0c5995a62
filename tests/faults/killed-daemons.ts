/** Daemons that are killed while agents work, and what must be true of their runs afterwards. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readProcess } from '@caisson/ground';
import type { DaemonStatus, DispatchResult } from '@caisson/protocol';
import { expect, onTestFinished } from 'vitest';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { pidsWith, until, type Project } from '../e2e/project.ts';

/** A daemon in the background, which ends with the test. */
export async function serve(project: Project, ...options: string[]): Promise<number> {
  const { stdout, stderr } = await project.caisson('up', '-d', ...options, '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  const { pid } = JSON.parse(stdout) as DaemonStatus;
  onTestFinished(() => {
    if (!isGone(pid)) process.kill(pid, 'SIGKILL');
  });
  return pid;
}

/** A zombie has ended: nobody may wait for a process that outlived the one that started it. */
export function isGone(pid: number): boolean {
  const state = readProcess(pid)?.state ?? 'X';
  return state === 'X' || state === 'Z';
}

export async function killDaemon(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until('the daemon is gone', () => isGone(pid));
}

export const show = async (project: Project, runId: string): Promise<DispatchResult> =>
  JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout) as DispatchResult;

export async function untilStatus(project: Project, runId: string, status: string): Promise<void> {
  await until(`it is ${status}`, async () => (await show(project, runId)).status === status, 60_000);
}

/** Read here, without a process for each look; closed with the test. */
export function openedLedger(stateDir: string): Ledger {
  const ledger = openLedger(join(stateDir, 'ledger.db'));
  onTestFinished(() => ledger.close());
  return ledger;
}

/** Resolves when so many daemons have adopted the run. */
export async function untilAdopted(project: Project, runId: string, times = 1): Promise<void> {
  const ledger = openedLedger(join(project.root, '.caisson'));
  const count = (): number => ledger.read({ runId, types: ['run.adopted'] }).length;
  await until('it is adopted', () => count() === times, 60_000);
}

export type Events = Awaited<ReturnType<Project['events']>>;

export const typesOf = (events: Events): string[] => events.map(({ type }) => type);

/** The seal follows the ending, so a run can be `done` a moment before its record is complete. */
async function untilSealed(project: Project, runId: string): Promise<Events> {
  let events: Events = [];
  const isSealed = async (): Promise<boolean> => {
    events = await project.events(runId);
    return typesOf(events).includes('evidence.sealed');
  };
  await until('it is sealed', isSealed, 60_000);
  return events;
}

/** One acceptance, one ending, one seal, numbers without holes, no line of the worker twice, a sound record. */
export async function expectWhole(project: Project, runId: string): Promise<Events> {
  const events = await untilSealed(project, runId);
  const types = typesOf(events);
  const count = (wanted: RegExp): number => types.filter((type) => wanted.test(type)).length;
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
  expect([count(/^dispatch\.accepted$/), count(/^dispatch\.started$/)]).toEqual([1, 1]);
  expect(count(/^dispatch\.(?:finished|failed|cancelled|needs_input)$/)).toBe(1);
  expect(count(/^evidence\.sealed$/)).toBe(1);
  expect(count(/^runtime\.adapter\.ran$/)).toBeLessThanOrEqual(1);
  const callsOf = (type: string): unknown[] =>
    events.filter((event) => event.type === type).map((event) => event['callId']);
  const started = callsOf('tool.started');
  expect(new Set(started).size).toBe(started.length);
  if (types.includes('dispatch.finished')) expect(new Set(callsOf('tool.ended'))).toEqual(new Set(started));
  expect((await project.caisson('verify', runId)).code).toBe(0);
  return events;
}

/** Nothing of the run is left: no process, no socket. */
export function expectGone(project: Project, mark: string): void {
  expect(pidsWith(mark)).toEqual([]);
  const net = join(project.root, '.caisson/runtime/net');
  expect(existsSync(net) ? readdirSync(net) : []).toEqual([]);
}
