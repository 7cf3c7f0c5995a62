/**
 * One start of a worker, from the request to its end, and the work that it was given.
 *
 * LW1  `onEnded` is called exactly once, also when the start fails, with the work that was not answered. Nothing follows.
 * LW2  Limits are counted in checks, one a beat: a host that stood still makes one late check, and ends nobody for its own sleep.
 * LW3  A second answer, or one of another kind than its work, has no effect.
 */
import type { Clock } from '@caisson/ground';
import type { ResidentEnding, ResidentLine, ResidentOrder } from '@caisson/protocol';
import type { ResidentPlan, ResidentProcess, ResidentStarter } from './contract.ts';
import { describeFailedStart, findProblems, type Problems } from './describe-problems.ts';
import { DeliveredOrders } from './delivered-orders.ts';
import type { RuntimeLimits } from './runtime-limits.ts';
import { SentWork } from './sent-work.ts';
import { composeOrder, type Work } from './work.ts';

export interface LiveWorkerRooms {
  readonly starter: Pick<ResidentStarter, 'start'>;
  readonly clock: Clock;
  readonly limits: RuntimeLimits;
  nextId(): string;
}

export interface LiveWorkerListener {
  onReady(worker: LiveWorker): void;
  onReport(line: Extract<ResidentLine, { kind: 'logged' | 'log-dropped' | 'undelivered' }>): void;
  /** Nothing has been under way for `idleMs`; called once a beat until there is work. */
  onIdle(worker: LiveWorker): void;
  onEnded(worker: LiveWorker, ending: ResidentEnding, unanswered: readonly Work[]): void;
}

type Killed = Pick<ResidentEnding, 'why' | 'detail'>;

/** A start that is not wanted any more has so long to end. */
const START_LIMIT_MS = 5000;
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
  #problems: Problems | null = null;
  #killed: Killed | null = null;
  #isEndAsked = false;
  #stopOrder: ResidentOrder | null = null;
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

  get process(): Pick<ResidentProcess, 'pid' | 'resident'> | null {
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
    return this.#problems ?? new Map();
  }

  give(work: Work): void {
    const id = this.#rooms.nextId();
    this.#idleChecks = 0;
    this.#sent.add(id, work, this.#nowMs());
    this.order(composeOrder(work, id));
  }

  answerStep(work: Work, ordinal: number, outcome: { readonly ok: boolean; readonly value: unknown }): void {
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
  stop(graceMs: number): void {
    this.#isEndAsked = true;
    this.#delivered.flush();
    if (this.#problems === null) return this.kill();
    // A worker of senses ends at once when it is stopped, so it is stopped when it has answered.
    this.#stopOrder = { kind: 'stop', graceMs };
    if (this.plan.kind === 'workflow' || this.#sent.size === 0) this.order(this.#stopOrder);
    this.#cancelStop();
    const { clock, limits } = this.#rooms;
    const longestMs = Math.max(graceMs + limits.slackMs, this.#sent.longestMs(this.#nowMs()));
    this.#cancelStop = clock.setTimer(longestMs, () => this.kill());
  }

  /** Ends it now, because its host wants so. */
  kill(): void {
    this.#isEndAsked = true;
    this.#end({ why: 'stopped', detail: 'it was ended by its host' });
  }

  async #live(): Promise<void> {
    const ending = await this.#run().catch(describeFailedStart);
    this.#isOver = true;
    this.#delivered.flush();
    this.#cancelCheck();
    this.#cancelStop();
    this.#listener.onEnded(this, { ...ending, ...this.#killed }, this.#sent.take()); // LW1
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
  #end(why: Killed): void {
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
    if (this.#problems !== null) this.#quietChecks = 0;
    switch (line.kind) {
      case 'ready':
        return this.#becomeReady(line);
      case 'computed':
      case 'turned':
        return this.#settle(line);
      case 'step': {
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

  #becomeReady({ modules }: Extract<ResidentLine, { kind: 'ready' }>): void {
    if (this.#problems !== null || this.#killed !== null) return;
    this.#problems = findProblems(this.plan, modules);
    this.#quietChecks = 0;
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
      if (this.#problems === null) {
        const end: Killed = { why: 'not-ready', detail: `it was not ready within ${readyMs} ms` };
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
