/**
 * One start of a worker, from the request to its end, and the work that it was given.
 *
 * LW1  `onEnded` is called exactly once, also when the start fails, with the work that was not answered. Nothing follows.
 * LW2  Limits are counted in checks, one a beat: a host that stood still makes one late check, and ends nobody for its own sleep.
 * LW3  A second answer, or one of another kind than its work, has no effect.
 */
import type { ResidentEnding, ResidentLine, ResidentOrder, StepOutcome } from '@caisson/protocol';
import type { ResidentPlan, ResidentProcess } from './contract.ts';
import { describeFailedStart, explainEnding, type EndReason, type Problems } from './describe-problems.ts';
import { DeliveredOrders } from './delivered-orders.ts';
import { START_LIMIT_MS, type LiveWorkerListener, type LiveWorkerRooms } from './live-worker-rooms.ts';
import { ModuleLoads } from './module-loads.ts';
import { SentWork } from './sent-work.ts';
import { composeOrder, type Work } from './work.ts';

/** A worker that does not read has not more orders than this waiting for it. */
const MAX_WAITING_ORDERS = 4096;

export class LiveWorker {
  readonly plan: ResidentPlan;
  readonly ended: Promise<void>;
  readonly startedMs: number;
  memoryBytes: number | undefined;
  readySince: string | undefined;
  readonly #rooms: LiveWorkerRooms;
  readonly #listener: LiveWorkerListener;
  readonly #sent: SentWork;
  readonly #delivered: DeliveredOrders;
  #process: ResidentProcess | null = null;
  /** Null until it is ready. */
  #loads: ModuleLoads | null = null;
  #killed: EndReason | null = null;
  #isEndAsked = false;
  #stopOrder: ResidentOrder | null = null;
  #stopDetail: string | undefined;
  #isOver = false;
  #quietChecks = 0;
  #idleChecks = 0;
  #waitingOrders = 0;
  readonly #startGivenUp = Promise.withResolvers<never>();
  #cancelCheck = (): void => undefined;
  #cancelStop = (): void => undefined;

  constructor(rooms: LiveWorkerRooms, plan: ResidentPlan, listener: LiveWorkerListener) {
    this.#rooms = rooms;
    this.#listener = listener;
    this.#sent = new SentWork(rooms.limits.slackMs);
    this.#delivered = new DeliveredOrders(rooms.clock, (order) => this.order(order));
    this.plan = plan;
    this.startedMs = rooms.clock.monotonicMs();
    this.ended = this.#live();
  }

  get process(): Pick<ResidentProcess, 'pid' | 'resident' | 'unenforced'> | null {
    return this.#process;
  }

  get underWay(): number {
    return this.#sent.size;
  }

  /** Whether its host wanted it to end. */
  get isEndAsked(): boolean {
    return this.#isEndAsked;
  }

  /** Whether it is being ended without regard to its work. */
  get isKilled(): boolean {
    return this.#killed !== null;
  }

  /** Why files could not be loaded, by name; empty before it is ready. */
  get problems(): Problems {
    return this.#loads?.problems ?? new Map();
  }

  /** Whether it is known of each file that it can be used, or why not. */
  get isLoaded(): boolean {
    return this.#loads?.areKnown === true;
  }

  isLoading(name: string): boolean {
    return this.#loads?.isLoading(name) === true;
  }

  give(work: Work): void {
    const id = this.#rooms.nextId();
    this.#idleChecks = 0;
    this.#sent.add(id, work, this.#nowMs());
    this.order(composeOrder(work, id));
  }

  answerStep(work: Work, ordinal: number, outcome: StepOutcome): void {
    const id = this.#sent.idOf(work);
    if (id !== undefined) this.order({ kind: 'step-done', id, ordinal, ...outcome });
  }

  /** Whether it has this work; its answer follows. */
  abandon(work: Work, why: string, graceMs = work.order.graceMs): boolean {
    const id = this.#sent.idOf(work);
    if (id === undefined) return false;
    this.#sent.expectWithin(id, graceMs, this.#nowMs());
    this.order({ kind: 'abandon', id, why, graceMs });
    return true;
  }

  /** What this compute emitted is recorded. One that ends before it knows reports it again, and that has no effect. */
  deliver(name: string, computeId: string): void {
    if (!this.#isOver) this.#delivered.add(name, computeId);
  }

  /** Lets it finish what is under way: within the grace, or its own limit. One that is not ready has nothing to finish. */
  stop(graceMs: number, detail?: string): void {
    this.#isEndAsked = true;
    this.#stopDetail ??= detail;
    this.#delivered.flush();
    if (this.#loads === null) return this.kill();
    // A worker of senses ends at once when it is stopped, so it is stopped when it has answered.
    this.#stopOrder = { kind: 'stop', graceMs };
    if (this.plan.kind === 'workflow' || this.#sent.size === 0) this.order(this.#stopOrder);
    this.#cancelStop();
    const { clock, limits } = this.#rooms;
    const longestMs = Math.max(graceMs + limits.slackMs, this.#sent.longestMs(this.#nowMs()));
    this.#cancelStop = clock.setTimer(longestMs, () => this.kill());
  }

  /** Ends it now, because its host wants so. */
  kill(detail = 'it was ended by its host'): void {
    this.#isEndAsked = true;
    this.#end({ why: 'stopped', detail });
  }

  async #live(): Promise<void> {
    const ending = await this.#run().catch(describeFailedStart);
    this.#isOver = true;
    this.#delivered.flush();
    this.#cancelCheck();
    this.#cancelStop();
    const explained = explainEnding(ending, this.#killed, this.#stopDetail);
    this.#listener.onEnded(this, explained, this.#sent.take()); // LW1
  }

  async #run(): Promise<ResidentEnding> {
    this.#check();
    const starting = this.#rooms.starter.start(this.plan);
    void starting.then((late) => void (this.#isOver && late.kill())).catch(() => undefined);
    const process = await Promise.race([starting, this.#startGivenUp.promise]);
    this.#process = process;
    process.onLine((line) => this.#receive(line));
    if (this.#killed !== null) process.kill();
    return process.ended;
  }

  /** RE5: a start that hangs is given up; a process that it makes later is ended at once. */
  #end(why: EndReason): void {
    if (this.#isOver || this.#killed !== null) return;
    this.#killed = why;
    if (this.#process !== null) return this.#process.kill();
    this.#cancelStop();
    this.#cancelStop = this.#rooms.clock.setTimer(START_LIMIT_MS, () =>
      this.#startGivenUp.reject(new Error(`its start did not end within ${START_LIMIT_MS} ms`)),
    );
  }

  /** What it does not take is in `unanswered`. */
  order(order: ResidentOrder): void {
    if (this.#process === null) return;
    this.#waitingOrders += 1;
    if (this.#waitingOrders > MAX_WAITING_ORDERS)
      this.#end({ why: 'unresponsive', detail: `${MAX_WAITING_ORDERS} orders wait for it` });
    void this.#process.send(order).then(() => (this.#waitingOrders -= 1));
  }

  #receive(line: ResidentLine): void {
    if (this.#isOver) return;
    if (this.#loads !== null || line.kind === 'ready') this.#quietChecks = 0;
    switch (line.kind) {
      case 'ready':
        return this.#becomeReady(line);
      case 'loaded':
        if (this.#loads?.take(line) === true && this.#killed === null) this.#listener.onReady(this);
        return;
      case 'computed':
      case 'turned':
        return this.#settle(line);
      case 'step':
      case 'worked': {
        const work = this.#sent.find(line.id);
        if (work?.kind === 'turn') work.onStep(line);
        return;
      }
      case 'logged':
      case 'log-dropped':
      case 'undelivered':
        return this.#listener.onReport(line);
      case 'beat':
        this.memoryBytes = line.memoryBytes;
        return;
      case 'ended': // `process.ended` says so when nothing is left
    }
  }

  #becomeReady(line: Extract<ResidentLine, { kind: 'ready' }>): void {
    if (this.#loads !== null || this.#killed !== null) return;
    this.#loads = new ModuleLoads(this.plan, line);
    this.readySince = this.#rooms.clock.now().toISOString();
    this.#listener.onReady(this);
  }

  #settle(line: Extract<ResidentLine, { kind: 'computed' | 'turned' }>): void {
    const work = this.#sent.find(line.id);
    if (work === undefined || (work.kind === 'compute') !== (line.kind === 'computed')) return; // LW3
    this.#sent.remove(line.id);
    if (this.#stopOrder !== null && this.#sent.size === 0) this.order(this.#stopOrder);
    if (work.kind === 'turn' && line.kind === 'turned') work.settle(line.outcome);
    if (work.kind === 'compute' && line.kind === 'computed') {
      const { durationMs, signals, failure } = line;
      work.settle({ durationMs, signals, ...(failure === undefined ? {} : { failure }) });
    }
  }

  #check(): void {
    const { beatMs, missedBeats, readyMs } = this.#rooms.limits;
    this.#cancelCheck = this.#rooms.clock.setTimer(beatMs, () => {
      this.#quietChecks += 1; // LW2
      if (this.#loads === null) {
        const end: EndReason = { why: 'not-ready', detail: `it was not ready within ${readyMs} ms` };
        if (this.#quietChecks * beatMs >= readyMs) this.#end(end);
      } else if (this.#quietChecks >= missedBeats) {
        this.#end({ why: 'unresponsive', detail: `it was silent for ${beatMs * missedBeats} ms` });
      } else if (this.#sent.isOverdue(this.#nowMs())) {
        this.#end({ why: 'unresponsive', detail: 'it gave no answer in time' });
      } else if (this.#sent.size > 0) this.#idleChecks = 0;
      else this.#countIdle();
      this.#check();
    });
  }

  #countIdle(): void {
    const { beatMs, idleMs } = this.#rooms.limits;
    this.#idleChecks += 1;
    if (this.#idleChecks * beatMs > idleMs) this.#listener.onIdle(this);
  }

  #nowMs(): number {
    return this.#rooms.clock.monotonicMs();
  }
}
