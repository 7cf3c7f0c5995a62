/**
 * When senses compute.
 *
 * SE1  A sense computes once at a time, and not more often than its throttle allows, unless a person asks.
 * SE2  What asks for a compute while it cannot begin waits; with a throttle it becomes one compute (sense-requests.ts).
 * SE3  An interval counts from the declaration. Times that were missed, while it computed or while the machine slept, are not
 *      made up for.
 * SE4  There is one timer, for what is due next.
 * SE5  A compute is over when what it emitted is recorded; only then does the next one begin.
 */
import type { Clock } from '@caisson/ground';
import {
  definedOnly,
  type Cause,
  type ComputeCause,
  type GuestFailure,
  type SenseView,
} from '@caisson/protocol';
import type { RunRecord } from '../ledger/index.ts';
import { chooseComputeId, findComputeId } from './compute-id.ts';
import type { ComputeOutcome, Emission, SenseSettings, SenseTrigger, WorkerRuntime } from './contract.ts';
import { createEntry, describeSense, failed, failWaiting, keyOfGroup, type Entry } from './sense-entry.ts';
import { addRequest, type PlannedCompute } from './sense-requests.ts';
import type { Signals } from './signals.ts';

export interface SensesOptions {
  readonly clock: Clock;
  readonly runtime: Pick<WorkerRuntime, 'compute' | 'delivered' | 'view'>;
  readonly signals: Pick<Signals, 'emit'>;
  readonly record: Pick<RunRecord, 'publish'>;
  /** Called with all that are declared now. */
  onDeclared(senses: readonly SenseSettings[]): void;
  warn(message: string): void;
}

export interface Senses {
  /** These and no others; what is known of those that stay is kept. */
  set(senses: readonly SenseSettings[]): void;
  /** One compute; resolves with its outcome. */
  request(sense: string, cause: ComputeCause, causes?: readonly Cause[]): Promise<ComputeOutcome>;
  /** Records what a compute emitted whose answer was lost (RE7). */
  takeUndelivered(sense: string, emission: Emission): Promise<void>;
  /** Senses with such a trigger. */
  findByTrigger<K extends SenseTrigger['kind']>(
    kind: K,
    matches: (trigger: Extract<SenseTrigger, { kind: K }>) => boolean,
  ): readonly string[];
  views(): readonly SenseView[];
  /** Nothing begins any more; what waits fails. */
  stop(): void;
}

/** What is due so soon is done now: one wake-up instead of two. */
const SOON_MS = 5;

export function createSenses(options: SensesOptions): Senses {
  return new TimedSenses(options);
}

class TimedSenses implements Senses {
  readonly #options: SensesOptions;
  readonly #entries = new Map<string, Entry>();
  #armedMs = Infinity;
  #cancel = (): void => undefined;
  #isStopped = false;

  constructor(options: SensesOptions) {
    this.#options = options;
  }

  set(senses: readonly SenseSettings[]): void {
    const names = new Set(senses.map(({ name }) => name));
    for (const [name, entry] of this.#entries) {
      if (names.has(name)) continue;
      this.#entries.delete(name);
      const failure = { kind: 'invalid', detail: `${name} is no longer configured` } as const;
      failWaiting(entry, { ...failed(failure), dropped: 'withdrawn' });
    }
    for (const settings of senses) this.#declare(settings);
    this.#options.onDeclared(senses);
    this.#pass();
  }

  request(...[sense, cause, causes = []]: Parameters<Senses['request']>): Promise<ComputeOutcome> {
    const entry = this.#entries.get(sense);
    const why = this.#isStopped ? 'residents are stopped' : `${sense} is not configured`;
    if (entry === undefined || this.#isStopped)
      return Promise.resolve(failed({ kind: 'aborted', detail: why }));
    return new Promise((settle) => {
      const asked = { cause, causes, computeId: findComputeId(sense, cause), settle };
      if (addRequest(entry.waiting, asked, entry.settings.throttleMs > 0)) this.#begin(entry);
      else settle({ ...failed({ kind: 'aborted', detail: 'too many signals wait' }), dropped: 'overflow' });
    });
  }

  async takeUndelivered(sense: string, emission: Emission): Promise<void> {
    const entry = this.#entries.get(sense);
    if (entry !== undefined) await this.#emit(entry, emission);
  }

  findByTrigger<K extends SenseTrigger['kind']>(
    kind: K,
    matches: (trigger: Extract<SenseTrigger, { kind: K }>) => boolean,
  ): readonly string[] {
    const isKind = (trigger: SenseTrigger): trigger is Extract<SenseTrigger, { kind: K }> =>
      trigger.kind === kind;
    return [...this.#entries.values()]
      .filter(({ settings }) => settings.on.some((trigger) => isKind(trigger) && matches(trigger)))
      .map(({ settings }) => settings.name);
  }

  views(): readonly SenseView[] {
    return [...this.#entries.values()].map((entry) => describeSense(this.#options, entry));
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    for (const entry of this.#entries.values())
      failWaiting(entry, failed({ kind: 'aborted', detail: 'residents are stopped' }));
  }

  #declare(settings: SenseSettings): void {
    const known = this.#entries.get(settings.name);
    const dueMs = this.#nowMs() + (settings.intervalMs ?? Infinity);
    if (known === undefined) {
      this.#entries.set(settings.name, createEntry(settings, dueMs));
      return;
    }
    if (known.settings.intervalMs !== settings.intervalMs) known.intervalDueMs = dueMs;
    known.settings = settings;
  }

  /** Begins what is due, and waits for what is due next. */
  #pass(): void {
    this.#armedMs = Infinity;
    const soonMs = this.#nowMs() + SOON_MS;
    for (const entry of this.#entries.values()) {
      if (entry.intervalDueMs <= soonMs) this.#takeInterval(entry, soonMs);
      this.#begin(entry);
      this.#arm(entry.intervalDueMs);
    }
  }

  /** SE3: one compute, however many times have passed. */
  #takeInterval(entry: Entry, soonMs: number): void {
    const { intervalMs = Infinity, group } = entry.settings;
    const passed = Math.floor((soonMs - entry.intervalDueMs) / intervalMs);
    entry.intervalDueMs += (passed + 1) * intervalMs;
    const state = this.#options.runtime.view(keyOfGroup(group))?.state;
    if (entry.isComputing || state === 'blocked' || state === 'unloadable') return;
    const cause: ComputeCause = { kind: 'interval' };
    addRequest(entry.waiting, { cause, causes: [], computeId: null, settle: () => undefined }, true);
  }

  #begin(entry: Entry): void {
    if (entry.isComputing || entry.waiting.length === 0 || this.#isStopped) return; // SE1
    const isUrgent = entry.waiting.some((planned) => planned.isUrgent);
    const freeMs = isUrgent ? -Infinity : entry.startedMs + entry.settings.throttleMs;
    if (freeMs > this.#nowMs()) return this.#arm(freeMs);
    const planned = entry.waiting.shift();
    if (planned !== undefined) void this.#compute(entry, planned);
  }

  #arm(dueMs: number): void {
    if (dueMs >= this.#armedMs || this.#isStopped) return; // SE4
    this.#armedMs = dueMs;
    this.#cancel();
    this.#cancel = this.#options.clock.setTimer(dueMs - this.#nowMs(), () => this.#pass());
  }

  async #compute(entry: Entry, { cause, causes, covers, settles }: PlannedCompute): Promise<void> {
    const { name, timeoutMs, graceMs } = entry.settings;
    entry.isComputing = true;
    entry.startedMs = this.#nowMs();
    const computeId = chooseComputeId(this.#options.clock, name, cause);
    const others = covers.filter((covered) => covered !== computeId);
    const order = { name, computeId, cause, causes: [...causes], timeoutMs, graceMs, covers: others };
    const outcome = await this.#ask(entry, order);
    const signals = outcome.failure === undefined ? outcome.signals : [];
    const failure = await this.#emit(entry, { computeId, signals, causes }); // SE5
    const kept = failure === null ? outcome : { ...outcome, signals: [], failure };
    this.#count(entry, cause, kept);
    entry.isComputing = false;
    for (const settle of settles) settle(kept);
    this.#begin(entry);
  }

  /** A sense that is moved to another group takes what was not begun with it. */
  async #ask(entry: Entry, order: Parameters<WorkerRuntime['compute']>[1]): Promise<ComputeOutcome> {
    const { group, name } = entry.settings;
    const outcome = await this.#options.runtime.compute(keyOfGroup(group), order);
    const isMoved = entry.settings.group !== group && this.#entries.get(name) === entry;
    return outcome.dropped === 'withdrawn' && isMoved ? this.#ask(entry, order) : outcome;
  }

  /** What cannot be recorded is reported again when its file is loaded. */
  async #emit({ settings: { name, group } }: Entry, emission: Emission): Promise<GuestFailure | null> {
    if (emission.signals.length === 0) return null;
    const { signals, runtime, warn } = this.#options;
    try {
      await signals.emit(name, emission);
      runtime.delivered(keyOfGroup(group), name, emission.computeId);
      return null;
    } catch (error) {
      const detail = `its signals could not be recorded: ${(error as Error).message}`;
      warn(`${name}: ${detail}`);
      return { kind: 'crashed', detail };
    }
  }

  #count(entry: Entry, cause: ComputeCause, { durationMs, signals, failure }: ComputeOutcome): void {
    const problem = failure === undefined ? undefined : `${failure.kind}: ${failure.detail}`;
    entry.computes += 1;
    if (failure !== undefined) entry.failures += 1;
    entry.last = {
      lastComputeAt: this.#options.clock.now().toISOString(),
      lastDurationMs: durationMs,
      ...definedOnly({ lastProblem: problem }),
    };
    const names = signals.map(({ name }) => name);
    const data = { sense: entry.settings.name, cause: cause.kind, durationMs, signals: names };
    this.#options.record.publish('sense.computed', { ...data, ...definedOnly({ failure: problem }) }, 0);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
