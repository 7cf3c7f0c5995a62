/** What is known of one sense. */
import type { Clock } from '@caisson/ground';
import { definedOnly, type GuestFailure, type SenseView } from '@caisson/protocol';
import type { ComputeOutcome, SenseSettings, WorkerRuntime } from './contract.ts';
import { describeTrigger, type PlannedCompute } from './sense-requests.ts';

export interface Entry {
  settings: SenseSettings;
  readonly waiting: PlannedCompute[];
  isComputing: boolean;
  startedMs: number;
  intervalDueMs: number;
  computes: number;
  failures: number;
  last: Pick<SenseView, 'lastComputeAt' | 'lastDurationMs' | 'lastProblem'>;
}

/** Shared by all that have not computed. */
const NEVER: Entry['last'] = {};

/** One literal: what is added by a spread costs each of a thousand more. */
export function createEntry(settings: SenseSettings, intervalDueMs: number): Entry {
  return {
    settings,
    waiting: [],
    isComputing: false,
    startedMs: -Infinity,
    intervalDueMs,
    computes: 0,
    failures: 0,
    last: NEVER,
  };
}

export const keyOfGroup = (group: string): string => `senses.${group}`;

export function describeSense(
  { clock, runtime }: { readonly clock: Clock; readonly runtime: Pick<WorkerRuntime, 'view'> },
  { settings, isComputing, computes, failures, last, intervalDueMs }: Entry,
): SenseView {
  const { name, group, file, intervalMs, on } = settings;
  const nextMs = clock.wallMs() + intervalDueMs - clock.monotonicMs();
  const nextAt = Number.isFinite(nextMs) ? new Date(nextMs).toISOString() : undefined;
  const { state = 'idle', problems } = runtime.view(keyOfGroup(group)) ?? {};
  const view = { name, group, file, state, on: on.map(describeTrigger), isComputing, computes, failures };
  return { ...view, ...last, ...definedOnly({ intervalMs, nextAt, problem: problems?.[name] }) };
}

export function failed(failure: GuestFailure): ComputeOutcome {
  return { durationMs: 0, signals: [], failure };
}

/** What waits has this outcome. */
export function failWaiting({ waiting }: Entry, outcome: ComputeOutcome): void {
  for (const { settles } of waiting.splice(0)) for (const settle of settles) settle(outcome);
}
