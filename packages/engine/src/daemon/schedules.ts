/**
 * Schedules: tasks and threads that start at their times. A _slot_ is one time of one schedule.
 *
 * SC1  A slot is fired at most once, whatever happens to daemons and clocks: what it starts has the slot as its idempotency
 *      key, and `schedule.fired` has it as its id.
 * SC2  A slot that is due is on record, with what it started or why it started nothing, before the next one is looked at.
 * SC3  A slot that is found too late (the machine slept, there was no daemon, the clock was set forward) is missed. Of those
 *      that were missed the newest is fired, marked, with `catchUp: latest`; with `skip` none is.
 * SC4  Slots from before a schedule was declared, changed, or declared again after it was removed, do not count.
 * SC5  A clock that is set back repeats nothing: what was fired stays fired.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '@caisson/ground';
import { definedOnly, toErrorInfo, type DataOf, type ScheduleView } from '@caisson/protocol';
import * as z from 'zod/mini';
import { NO_ATTEMPT, type Ledger, type Recorder } from '../ledger/index.ts';
import { DaemonStoppingError } from './errors.ts';

/** What is fired later than this is missed (SC3). */
const ON_TIME_MS = 60_000;
const MAX_PROBLEM_CHARACTERS = 8000;
/** Of one schedule, before the others have their turn. */
const MAX_AT_ONCE = 60;
const SPACE = 'schedules';

export interface Schedule {
  readonly name: string;
  readonly cron: string;
  readonly timezone?: string | undefined;
  readonly catchUp: 'latest' | 'skip';
  readonly jitterMs: number;
  /** What it starts, in a few words. */
  readonly what: string;
  readonly times: {
    next(afterMs: number): number | null;
    latest(untilMs: number): number | null;
  };
  /** Starts it, at most once for a key. */
  start(slot: FiredSlot): Promise<Started>;
}

export interface FiredSlot {
  readonly slot: string;
  /** `schedule:<name>:<slot>` */
  readonly key: string;
  readonly isCatchUp: boolean;
}

export interface ScheduleRooms {
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly ledger: Pick<Ledger, 'kv' | 'whenFree'>;
  readonly recorder: Pick<Recorder, 'of'>;
  /** Makes the moments of a jitter differ from those of other projects. */
  readonly seed: string;
}

/** What a slot started. */
type Started = { readonly runId: string } | { readonly threadId: string };
type SlotOutcome = Started | { readonly problem: string };

export interface Schedules {
  /** Fires what is due. One call at a time. */
  fireDue(): Promise<void>;
  /** Replaces them; an unchanged one keeps its slots, and one that is gone is forgotten. */
  set(schedules: readonly Schedule[]): void;
  list(): ScheduleView[];
}

/** What is known of a schedule beside its configuration. Not a record: the ledger has that. */
const Known = z.object({
  /** Of what decides its slots. */
  digest: z.string(),
  sinceMs: z.number(),
  last: z.optional(
    z.object({
      slot: z.string(),
      isCatchUp: z.optional(z.boolean()),
      runId: z.optional(z.string()),
      threadId: z.optional(z.string()),
      problem: z.optional(z.string()),
    }),
  ),
});
type Known = z.infer<typeof Known>;

interface Entry {
  readonly schedule: Schedule;
  known: Known;
  /** Slots up to here are settled. */
  settledMs: number;
  nextMs: number | null;
}

export function createSchedules(rooms: ScheduleRooms): Schedules {
  const { clock } = rooms;
  let entries: Entry[] = [];
  let seenMs = clock.wallMs();
  const settle = (entry: Entry, untilMs: number): void => {
    entry.settledMs = untilMs;
    entry.nextMs = entry.schedule.times.next(untilMs);
  };
  const open = (schedule: Schedule): Entry => {
    const known = recallSchedule(rooms, schedule);
    const settledMs = Math.min(
      clock.wallMs(),
      Math.max(known.sinceMs, Date.parse(known.last?.slot ?? '') || 0),
    );
    return { schedule, known, settledMs, nextMs: schedule.times.next(settledMs) };
  };
  const isDeclared = ({ schedule: { name } }: Entry): boolean =>
    entries.some((other) => other.schedule.name === name);
  const keep = (entry: Entry): void => {
    if (isDeclared(entry)) rooms.ledger.kv.set(SPACE, entry.schedule.name, entry.known);
  };
  return {
    async fireDue() {
      const nowMs = clock.wallMs();
      // SC5: a clock that was far ahead must not keep everything waiting until that time.
      if (nowMs < seenMs) for (const entry of entries) if (entry.settledMs > nowMs) settle(entry, nowMs);
      seenMs = nowMs;
      for (const entry of entries) {
        // Several, where its times come faster than we look.
        for (let count = 0; count < MAX_AT_ONCE; count += 1) {
          const due = findDue(entry, nowMs, rooms.seed);
          if (due === null) break;
          if (due.isFired) entry.known = await fire(rooms, entry, due);
          if (due.isFired) await rooms.ledger.whenFree(() => keep(entry));
          settle(entry, due.slotMs);
        }
      }
    },
    set(schedules) {
      const names = new Set(schedules.map(({ name }) => name));
      for (const { key } of rooms.ledger.kv.list(SPACE))
        if (!names.has(key)) rooms.ledger.kv.delete(SPACE, key); // SC4
      entries = schedules.map(open);
    },
    list: () =>
      entries.map((entry) => viewSchedule(entry.schedule, entry.known, nextFireMs(entry, rooms.seed))),
  };
}

interface Due {
  readonly slotMs: number;
  readonly isCatchUp: boolean;
  /** False: it was missed, and nothing is made up for. */
  readonly isFired: boolean;
}

/** The next slot, when its moment has come; if that is missed, the newest whose moment has come: older ones are settled with it. */
function findDue({ schedule, nextMs }: Entry, nowMs: number, seed: string): Due | null {
  const momentOf = (slotMs: number): number => slotMs + jitterOf(schedule, slotMs, seed);
  if (nextMs === null || momentOf(nextMs) > nowMs) return null;
  const isMissed = (slotMs: number): boolean => nowMs - momentOf(slotMs) > ON_TIME_MS;
  let slotMs = isMissed(nextMs) ? (schedule.times.latest(nowMs) ?? nextMs) : nextMs;
  while (slotMs > nextMs && momentOf(slotMs) > nowMs) slotMs = schedule.times.latest(slotMs - 1000) ?? nextMs;
  const isCatchUp = isMissed(slotMs);
  return { slotMs, isCatchUp, isFired: !isCatchUp || schedule.catchUp === 'latest' };
}

function nextFireMs({ schedule, nextMs }: Entry, seed: string): number | null {
  return nextMs === null ? null : nextMs + jitterOf(schedule, nextMs, seed);
}

/** The same for every daemon that asks: a restart in between does not move it. */
function jitterOf({ name, jitterMs }: Schedule, slotMs: number, seed: string): number {
  if (jitterMs === 0) return 0;
  const digest = createHash('sha256').update(`${seed}\0${name}\0${slotMs}`).digest();
  return Math.floor((digest.readUInt32BE(0) / 2 ** 32) * jitterMs);
}

/** SC1, SC2. A daemon that stops leaves the slot to the next one. */
async function fire(rooms: ScheduleRooms, { schedule, known }: Entry, due: Due): Promise<Known> {
  const { name } = schedule;
  const slot = new Date(due.slotMs).toISOString();
  const key = `schedule:${name}:${slot}`;
  const outcome = await schedule.start({ slot, key, isCatchUp: due.isCatchUp }).catch(toProblem);
  const data = { schedule: name, slot, isCatchUp: due.isCatchUp, ...describeOutcome(outcome) };
  await rooms.recorder.of(null).append('schedule.fired', data, { ...NO_ATTEMPT, id: key });
  return { ...known, last: { slot, isCatchUp: due.isCatchUp, ...outcome } };
}

function describeOutcome(outcome: SlotOutcome): Partial<DataOf<'schedule.fired'>> {
  if ('runId' in outcome) return { startedRun: outcome.runId };
  return 'threadId' in outcome ? { startedThread: outcome.threadId } : outcome;
}

function toProblem(error: unknown): { readonly problem: string } {
  if (error instanceof DaemonStoppingError) throw error;
  const { code, message } = toErrorInfo(error);
  return { problem: `${code}: ${message}`.slice(0, MAX_PROBLEM_CHARACTERS) };
}

/** SC4. */
function recallSchedule({ ledger, clock }: ScheduleRooms, schedule: Schedule): Known {
  const digest = digestOf(schedule);
  const known = readKnown(ledger, schedule.name);
  if (known?.digest === digest) return known;
  const fresh: Known = { digest, sinceMs: clock.wallMs(), ...definedOnly({ last: known?.last }) };
  ledger.kv.set(SPACE, schedule.name, fresh);
  return fresh;
}

function digestOf({ cron, timezone = '', catchUp }: Schedule): string {
  return createHash('sha256')
    .update(JSON.stringify([cron, timezone, catchUp]))
    .digest('hex')
    .slice(0, 16);
}

function readKnown(ledger: ScheduleRooms['ledger'], name: string): Known | null {
  return z.safeParse(Known, ledger.kv.get(SPACE, name)).data ?? null;
}

function viewSchedule(
  { name, cron, timezone, catchUp, what }: Omit<Schedule, 'start' | 'times' | 'jitterMs'>,
  known: Known | null,
  nextMs: number | null,
): ScheduleView {
  const { slot, isCatchUp, runId, threadId, problem } = known?.last ?? {};
  return {
    name,
    cron,
    catchUp,
    what,
    ...definedOnly({
      timezone,
      nextAt: nextMs === null ? undefined : new Date(nextMs).toISOString(),
      lastSlot: slot,
      lastIsCatchUp: isCatchUp || undefined,
      lastRunId: runId,
      lastThreadId: threadId,
      lastProblem: problem,
    }),
  };
}

/** As they are declared, for a process that fires none of them. */
export function listSchedules(
  { ledger, clock }: Pick<ScheduleRooms, 'ledger' | 'clock'>,
  schedules: readonly Omit<Schedule, 'start'>[],
): ScheduleView[] {
  return schedules.map((schedule) =>
    viewSchedule(schedule, readKnown(ledger, schedule.name), schedule.times.next(clock.wallMs())),
  );
}
