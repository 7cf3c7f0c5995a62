/**
 * The steps of the present round of a thread. Each is recorded before it is carried out and when it is over (RE8). One that
 * was recorded by an earlier host and is not over is carried on: a dispatch by its run's id, a question by its id, a sleep by
 * its time. A dispatch whose run was never accepted needs the role again, which then asks a second time; so does a value, which
 * the role's own work makes: while that is under way, the thread needs its turn, whatever else is open.
 */
import { createHash } from 'node:crypto';
import {
  definedOnly,
  describeStep,
  MAX_PAYLOAD_BYTES,
  type DataOf,
  type RecordedStep,
  type StepOutcome,
  type StepRequest,
} from '@caisson/protocol';
import { isPausedBy, isRefusal, type RunRecord } from '../ledger/index.ts';
import type { CANCELLED } from './cancel-runs.ts';
import { carryOut, type StepRooms } from './carry-out-step.ts';
import { describeChange } from './describe-change.ts';
import { persist } from './persist.ts';
import { planStep, sizeOf, type PlannedStep, type StepResult } from './plan-step.ts';
import { findOversized, refuseQuestion, ThreadBytes } from './thread-bytes.ts';
import type { LoadedStep } from './thread-history.ts';
import type { StepLine } from './work.ts';

/** Of one round. */
const MAX_STEPS = 1024;

interface Step {
  readonly data: DataOf<'thread.step-started'>;
  outcome?: StepOutcome | undefined;
  /** Whether it goes on only with the role: that has to ask for it here, or makes the value of it. */
  needsRole: boolean;
  /** False: it could not be. Absent: an earlier host did. */
  isRecorded?: Promise<boolean>;
  /** Once the role has asked for it here. */
  request?: StepRequest | undefined;
}

/** Whom the steps report to. */
export interface StepListener {
  /** A step is over: recorded, and to be answered. */
  onOver(ordinal: number, outcome: StepOutcome): void;
  /** The role asks for something else than before, or for what nobody may ask: the thread cannot go on. */
  onBroken(why: string): void;
  /** The role remembers more than a thread may. */
  onTooLarge(why: string): void;
}

export class ThreadSteps {
  readonly #rooms: StepRooms;
  readonly #thread: { readonly threadId: string; readonly workflow: string; readonly record: RunRecord };
  readonly #listener: StepListener;
  #round = 0;
  readonly #bytes: ThreadBytes;
  #steps = new Map<number, Step>();
  #over = new AbortController();

  constructor(
    rooms: StepRooms,
    thread: { readonly threadId: string; readonly workflow: string; readonly record: RunRecord },
    listener: StepListener,
  ) {
    this.#rooms = rooms;
    this.#thread = thread;
    this.#listener = listener;
    this.#bytes = new ThreadBytes(rooms.ledger, thread.threadId);
  }

  /** Begins a round with what is recorded of it; what is left of the one before is dropped. */
  begin(round: number, loaded: readonly LoadedStep[] = []): void {
    this.stop();
    this.#over = new AbortController();
    this.#round = round;
    this.#bytes.beginRound(loaded);
    this.#steps = new Map(
      loaded.map(({ outcome, ...data }) => [data.ordinal, { data, outcome, needsRole: true }]),
    );
    for (const step of this.#open()) if (this.#isIndependent(step)) this.#carry(step);
  }

  stop(why?: typeof CANCELLED): void {
    this.#over.abort(why);
  }

  /** What could not be carried out may be possible now. */
  retry(): void {
    if (this.#over.signal.aborted) return;
    for (const step of this.#open())
      if (step.needsRole && step.request !== undefined) this.#carry(step, step.request);
  }

  /** For the next order. */
  recorded(): RecordedStep[] {
    return [...this.#steps.values()].map(({ data: { ordinal, kind, digest }, outcome }) => ({
      ordinal,
      kind,
      digest,
      ...definedOnly({ outcome }),
    }));
  }

  /** Whether something is open, and nothing of it needs the role. */
  get isWaiting(): boolean {
    const open = this.#open();
    return open.length > 0 && !open.some(({ needsRole }) => needsRole);
  }

  /** Grows with each step that begins or is over. */
  get progress(): number {
    return 2 * this.#steps.size - this.#open().length;
  }

  /** Whether time does not count. */
  get isPaused(): boolean {
    return isPausedBy(this.#open().map(({ data }) => data));
  }

  /** Runs that the role waits for. */
  get awaitedRuns(): string[] {
    return this.#open().flatMap(({ data }) => data.runIds ?? []);
  }

  /** A role asks, or its own work is over. Never rejects. */
  async take(line: StepLine): Promise<void> {
    try {
      await (line.kind === 'step' ? this.#ask(line.ordinal, line.request) : this.#conclude(line));
    } catch (error) {
      // What a role asks for is data of its own: it ends its thread, and never the host.
      this.#listener.onBroken(`its step ${line.ordinal} cannot be carried out: ${(error as Error).message}`);
    }
  }

  async #ask(ordinal: number, request: StepRequest): Promise<void> {
    const oversized = findOversized(request);
    if (oversized !== null) return this.#listener.onBroken(`its step ${ordinal}: ${oversized}`);
    const digest = createHash('sha256').update(describeStep(request)).digest('hex');
    const known = this.#steps.get(ordinal);
    if (known === undefined) return this.#record(ordinal, digest, request);
    if (known.data.digest !== digest) return this.#listener.onBroken(describeChange(known.data, request));
    if (known.outcome !== undefined) this.#listener.onOver(ordinal, known.outcome);
    else if (known.needsRole && request.kind !== 'value') this.#carry(known, request);
  }

  /** The role's own work is over. */
  async #conclude({ ordinal, ok, value }: Extract<StepLine, { kind: 'worked' }>): Promise<void> {
    const step = this.#steps.get(ordinal);
    if (step?.data.kind !== 'value' || (await step.isRecorded) === false || !step.needsRole) return;
    step.needsRole = false;
    const isTooLarge = sizeOf(value) > MAX_PAYLOAD_BYTES;
    const why = `the value of step ${ordinal} is larger than ${MAX_PAYLOAD_BYTES} bytes`;
    await this.#settle(step, isTooLarge ? { ok: false, value: why } : { ok, value: value ?? null });
  }

  async #record(ordinal: number, digest: string, request: StepRequest): Promise<void> {
    if (ordinal >= MAX_STEPS)
      return this.#listener.onBroken(`it asked for more than ${MAX_STEPS} steps in one round`);
    const tooLarge = this.#bytes.addRequest(request);
    if (tooLarge !== null) return this.#listener.onTooLarge(tooLarge);
    const place = { round: this.#round, ordinal, digest, requestBytes: sizeOf(request) };
    const { data, also, outcome } = this.#plan(place, request);
    const needsRole = request.kind === 'value';
    // From here on it is under way: a role that is repeated before it is recorded finds it.
    const step: Step = { data, needsRole };
    this.#steps.set(ordinal, step);
    const ended = outcome === undefined ? [] : [this.#endOf(step, outcome)];
    const events = [{ type: 'thread.step-started' as const, data }, ...also, ...ended];
    step.isRecorded = this.#append(events);
    if (!(await step.isRecorded)) return;
    if (outcome !== undefined) this.#finish(step, outcome);
    else if (!needsRole) this.#carry(step, request);
  }

  #plan(place: Omit<Parameters<typeof planStep>[1], 'threadId'>, request: StepRequest): PlannedStep {
    const asked = this.#open().filter(({ data }) => data.kind === 'ask');
    const refused = refuseQuestion(request, asked.length);
    if (refused === null)
      return planStep(this.#rooms, { ...place, threadId: this.#thread.threadId }, request);
    return { data: { ...place, kind: request.kind }, also: [], outcome: { ok: false, value: refused } };
  }

  #carry(step: Step, request?: StepRequest): void {
    step.needsRole = false;
    step.request = request;
    const { signal } = this.#over;
    const carried = carryOut(this.#rooms, { ...this.#thread, step: step.data, request }, signal);
    void carried
      .catch((error: unknown) => ({ ok: false, value: (error as Error).message }))
      .then((outcome) => {
        if (outcome === null) step.needsRole = true;
        else if (!signal.aborted) return this.#settle(step, outcome);
      });
  }

  async #settle(step: Step, result: StepResult): Promise<void> {
    if (await this.#append([this.#endOf(step, result)])) this.#finish(step, result);
  }

  #finish(step: Step, { ok, value }: StepResult): void {
    const tooLarge = this.#bytes.addOutcome(value);
    if (tooLarge !== null) return this.#listener.onTooLarge(tooLarge);
    step.outcome = { ok, value, place: this.#steps.size - this.#open().length, asked: this.#asked };
    this.#listener.onOver(step.data.ordinal, step.outcome);
  }

  /** False when the thread, or the round, was over before. */
  async #append(events: Parameters<RunRecord['appendAll']>[0]): Promise<boolean> {
    const { signal } = this.#over;
    this.#bytes.addRecorded(events);
    try {
      await persist(this.#rooms, signal, () => this.#thread.record.appendAll(events, 0));
      return !signal.aborted;
    } catch (error) {
      if (signal.aborted) return false;
      const how = isRefusal(error) ? 'was refused' : 'could not be recorded';
      this.#listener.onBroken(`a step ${how}: ${(error as Error).message}`);
      return false;
    }
  }

  #endOf({ data: { ordinal } }: Step, { ok, value }: StepResult) {
    const data = { round: this.#round, ordinal, ok, value: value ?? null };
    return { type: 'thread.step-ended' as const, data };
  }

  /** How many steps the role has asked for: it numbers them. */
  get #asked(): number {
    return Math.max(...this.#steps.keys()) + 1;
  }

  #open(): Step[] {
    return [...this.#steps.values()].filter(({ outcome }) => outcome === undefined);
  }

  /** Whether it can be carried on without the role. */
  #isIndependent({ data: { kind, runIds = [] } }: Step): boolean {
    if (kind === 'value') return false;
    return kind !== 'dispatch' || runIds.some((runId) => this.#rooms.ledger.run(runId) !== null);
  }
}
