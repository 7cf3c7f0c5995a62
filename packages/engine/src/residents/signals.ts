/**
 * The way of a signal from the sense that emitted it to its listeners: senses, which compute, and workflows, which get a thread.
 *
 * SG1  A signal is recorded before it is delivered, and only if there is a listener.
 * SG2  A signal that a sense emits because of itself is a loop and is dropped, unless the sense allows it; so is one with too many causes, or one above
 *      the rate of its sense. Each drop is recorded, repeated ones with their number.
 * SG3  The id of a signal is made of its compute's: what a compute emitted is recorded once, however often it is reported (RE7).
 * SG4  A thread has the key of its signal, so that a second delivery gives the same thread.
 * SG5  What was recorded and not delivered to all is delivered later, by the next daemon if need be. That one delivers nothing of its
 *      own before: its cursor would pass what is left.
 */
import type { Clock } from '@caisson/ground';
import type { Cause } from '@caisson/protocol';
import { NO_ATTEMPT, type KeyValues, type Ledger, type Recorder, type RunRecord } from '../ledger/index.ts';
import { chooseSignalId } from './compute-id.ts';
import type { DeliveredSignal, Emission, Threads } from './contract.ts';
import { deliverUntilDone } from './deliver-until-done.ts';
import { DeliveryCursor } from './delivery-cursor.ts';
import { persist } from './persist.ts';
import { createSignalDrops, type Drop, type SignalDrops } from './signal-drops.ts';
import { SlidingWindow, type WindowLimit } from './sliding-window.ts';

export interface SignalListeners {
  readonly senses: readonly string[];
  readonly workflows: readonly string[];
}

export interface SignalsOptions {
  readonly clock: Clock;
  readonly recorder: Pick<Recorder, 'of'>;
  readonly ledger: Pick<Ledger, 'lastOffset' | 'walk' | 'whenFree'> & { readonly kv: KeyValues };
  /** Whether signals of this sense may lead to themselves. */
  allowsLoop(sense: string): boolean;
  /** Who listens now. */
  findListeners(name: string): SignalListeners;
  /** Resolves when the sense has computed and what it emitted is recorded; or with why it cannot compute. */
  computeFor(sense: string, signal: DeliveredSignal): Promise<{ readonly dropped?: 'blocked' | 'overflow' }>;
  startThread: Threads['start'];
  warn(message: string): void;
  readonly limits?: Partial<SignalLimits>;
}

export interface SignalLimits {
  /** Causes of a signal. */
  readonly depth: number;
  /** Signals of one sense. */
  readonly rate: WindowLimit;
}

export interface Signals {
  /** Resolves when all are recorded; delivery goes on by itself. */
  emit(sense: string, emission: Emission): Promise<void>;
  /** SG5. Until it is called, what is emitted is recorded and not delivered. */
  resume(): void;
  /** Something else that a sense was to compute for had no effect. */
  drop(drop: Drop, sense: string): void;
  stop(): void;
}

const DEFAULTS: SignalLimits = { depth: 16, rate: { limit: 60, windowMs: 60_000 } };
const SENSE = 'sense.';
const WORKFLOW = 'workflow.';

export function createSignals(options: SignalsOptions): Signals {
  return new RecordedSignals(options);
}

class RecordedSignals implements Signals {
  readonly #options: SignalsOptions;
  readonly #limits: SignalLimits;
  readonly #record: RunRecord;
  readonly #drops: SignalDrops;
  readonly #cursor: DeliveryCursor;
  readonly #rates = new Map<string, SlidingWindow>();
  /** What is being recorded: a second report of it waits for the first. */
  readonly #emitting = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  /** What is recorded up to this offset is delivered by `resume`. */
  #resumedTo = Infinity;

  constructor(options: SignalsOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULTS, ...options.limits };
    this.#record = options.recorder.of(null);
    this.#drops = createSignalDrops(options.clock, this.#record);
    this.#cursor = new DeliveryCursor(options, 'signals');
  }

  emit(sense: string, emission: Emission): Promise<void> {
    const key = `${sense} ${emission.computeId}`;
    const emitting =
      this.#emitting.get(key) ?? this.#emit(sense, emission).finally(() => this.#emitting.delete(key));
    this.#emitting.set(key, emitting);
    return emitting;
  }

  async #emit(sense: string, { computeId, signals, causes }: Emission): Promise<void> {
    const recorded = signals.map(async (signal, index) => {
      const listeners = this.#options.findListeners(signal.name);
      if (listeners.senses.length + listeners.workflows.length === 0) return; // SG1
      const why = this.#findDrop(sense, signal.name, causes);
      if (why !== null) return this.#drops.add({ name: signal.name, sense, why, causes: [...causes] });
      const signalId = chooseSignalId(sense, computeId, index); // SG3
      return this.#send({ signalId, ...signal, sense, causes }, listeners);
    });
    await Promise.all(recorded);
  }

  resume(): void {
    const after = this.#cursor.offset;
    this.#resumedTo = this.#options.ledger.lastOffset();
    for (const { data, offset } of this.#options.ledger.walk({ after, types: ['signal.emitted'] })) {
      if (offset > this.#resumedTo) return;
      if (this.#cursor.isDelivered(offset)) continue;
      const present = this.#options.findListeners(data.name);
      void this.#deliver(offset, data, {
        senses: present.senses.filter((name) => data.listeners.includes(SENSE + name)),
        workflows: present.workflows.filter((name) => data.listeners.includes(WORKFLOW + name)),
      });
    }
  }

  drop(drop: Drop, sense: string): void {
    if (!this.#stopping.signal.aborted) this.#drops.add({ ...drop, listener: SENSE + sense });
  }

  stop(): void {
    this.#stopping.abort();
    this.#drops.stop();
    this.#cursor.save();
  }

  /** SG2. */
  #findDrop(sense: string, name: string, causes: readonly Cause[]): Drop['why'] | null {
    const isLoop = causes.some((cause) => cause.name === name && cause.sense === sense);
    if (isLoop && !this.#options.allowsLoop(sense)) return 'loop';
    if (causes.length >= this.#limits.depth) return 'depth';
    const nowMs = this.#options.clock.monotonicMs();
    const rate = this.#rates.get(sense) ?? new SlidingWindow(this.#limits.rate);
    this.#rates.set(sense, rate);
    if (rate.isFull(nowMs)) return 'rate';
    rate.add(nowMs);
    return null;
  }

  async #send(signal: DeliveredSignal, listeners: SignalListeners): Promise<void> {
    const { causes, payload = null, ...rest } = signal;
    const named = [
      ...listeners.senses.map((name) => SENSE + name),
      ...listeners.workflows.map((name) => WORKFLOW + name),
    ];
    const data = { ...rest, payload, causes: [...causes], listeners: named.slice(0, 256) };
    const before = this.#options.ledger.lastOffset();
    const { offset } = await persist(
      this.#options,
      this.#stopping.signal,
      () => this.#record.append('signal.emitted', data, { ...NO_ATTEMPT, id: signal.signalId }),
      `the signal ${signal.name}`,
    );
    if (offset <= Math.max(before, this.#resumedTo)) return; // SG3, SG5: an earlier report, or `resume`, delivers it
    void this.#deliver(offset, { ...signal, payload }, listeners);
  }

  async #deliver(offset: number, signal: DeliveredSignal, to: SignalListeners): Promise<void> {
    this.#cursor.begin(offset);
    const isDelivered = await Promise.all([
      ...to.workflows.map((workflow) => this.#retry(signal, () => this.#startThread(workflow, signal))),
      ...to.senses.map((sense) => this.#retry(signal, () => this.#compute(sense, signal))),
    ]);
    if (isDelivered.every(Boolean)) this.#cursor.end(offset);
  }

  /** SG5. */
  #retry({ name }: DeliveredSignal, deliver: () => Promise<unknown>): Promise<boolean> {
    return deliverUntilDone(this.#options, `the signal ${name}`, deliver, this.#stopping.signal);
  }

  async #compute(listener: string, signal: DeliveredSignal): Promise<void> {
    const { dropped } = await this.#options.computeFor(listener, signal);
    if (dropped !== undefined) this.#drop(signal, dropped, SENSE + listener);
  }

  async #startThread(workflow: string, signal: DeliveredSignal): Promise<void> {
    const { signalId, name, sense, payload, causes } = signal;
    const outcome = await this.#options.startThread({
      workflow,
      trigger: { kind: 'signal', name, signalId, sense },
      payload,
      causes,
      idempotencyKey: `${signalId}.${workflow}`, // SG4
    });
    if ('dropped' in outcome) this.#drop(signal, outcome.dropped, WORKFLOW + workflow);
  }

  #drop({ name, sense, causes }: DeliveredSignal, why: Drop['why'], listener: string): void {
    this.#drops.add({ name, sense, why, listener, causes: [...causes] });
  }
}
