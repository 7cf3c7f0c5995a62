/**
 * One key: its plan, its state (contract.ts) and its worker. Its work waits in waiting-work.ts, key-crashes.ts counts the ends that
 * nobody asked for, and succession.ts says how a changed plan gets the work.
 */
import type { ResidentEnding } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';
import { describeRefusal, type Problems } from './describe-problems.ts';
import { KeyCrashes } from './key-crashes.ts';
import { endWorkers, findRefusal, IDLE, type KeyRooms, type KeyState } from './key-state.ts';
import { LiveWorker } from './live-worker.ts';
import { Succession } from './succession.ts';
import { WaitingWork } from './waiting-work.ts';
import { isRepeated, loseWork, STOPPING, WITHDRAWN, type Refusal, type Work } from './work.ts';

export class KeyedWorker {
  readonly #rooms: KeyRooms;
  plan: ResidentPlan; // changed by `declare` alone
  #isKept: boolean;
  state: KeyState = IDLE; // changed here alone
  readonly #waiting = new WaitingWork();
  readonly #succession = new Succession();
  readonly #crashes: KeyCrashes;
  closed: Refusal | null = null; // why it takes no work at all
  #isWanted = false; // a kept key has a worker from its first work on, unless it was evicted
  starts = 0;

  constructor(rooms: KeyRooms, plan: ResidentPlan, isKept: boolean, block: string | null) {
    this.#rooms = rooms;
    this.#crashes = new KeyCrashes(rooms, plan);
    this.plan = plan;
    this.#isKept = isKept;
    if (block !== null) this.state = { kind: 'blocked', detail: block };
  }

  get worker(): LiveWorker | null {
    return 'worker' in this.state ? this.state.worker : null;
  }

  get underWay(): number {
    return this.#workers.reduce((sum, { underWay }) => sum + underWay, this.#waiting.size);
  }

  get #workers(): LiveWorker[] {
    return this.#succession.workers(this.worker);
  }

  /** Of the worker that gets the work, and of a changed version that was refused. */
  get problems(): Problems {
    const present = this.state.kind === 'unloadable' ? this.state.problems : this.worker?.problems;
    return new Map([...(present ?? []), ...this.#succession.problems]);
  }

  countCrashes(): number {
    return this.#crashes.count();
  }

  declare(plan: ResidentPlan, isKept: boolean): void {
    this.closed = null;
    this.#isKept = isKept;
    const isChanged = plan.digest !== this.plan.digest;
    this.plan = plan;
    if (!isChanged) return;
    this.#succession.forgetRefusal();
    this.#crashes.usePlan(plan);
    if (this.state.kind === 'unloadable') this.state = IDLE;
    // One that has worked before says now, not at its next work, if what was changed cannot be loaded.
    this.#goOn(this.starts > 0 ? { isNeeded: true } : {});
  }

  submit(work: Work): void {
    if (!this.#waiting.offer(this, work, this.#succession.problems)) this.#goOn();
  }

  answerStep(...answer: Parameters<LiveWorker['answerStep']>): void {
    for (const worker of this.#workers) worker.answerStep(...answer);
  }

  abandon(work: Work, why: string, graceMs?: number): void {
    const isSent = this.#workers.some((worker) => worker.abandon(work, why, graceMs));
    if (!isSent) this.#waiting.abandon(work, why);
  }

  /** Finishes what is under way. What came meanwhile, or a kept key, starts the next one. */
  async drain(): Promise<void> {
    const { worker } = this;
    this.#succession.endTrial();
    if (worker === null) return;
    this.state = { kind: 'draining', worker };
    worker.stop(this.#rooms.limits.drainMs);
    await worker.ended;
  }

  /** At once: what is under way is repeated as its kind says. */
  evict(): Promise<void> {
    this.#isWanted = false;
    if (this.underWay > 0) this.worker?.kill();
    return this.drain();
  }

  /** A worker without work, unless it takes none; after a crash it waits for the delay, and the crash counts (RE4). */
  need(): boolean {
    const takesWork = (this.closed ?? findRefusal(this.state)) === null;
    if (takesWork) this.#goOn({ isNeeded: (this.#isWanted = true) });
    return takesWork;
  }

  async restart(): Promise<void> {
    if (this.state.kind === 'unloadable') this.state = IDLE;
    await endWorkers(this.#workers, (worker) => worker.kill());
    this.#endWait();
    this.#goOn({ isNeeded: true });
  }

  reset(): void {
    this.#crashes.clear();
    this.#succession.forgetRefusal();
    if (this.state.kind === 'blocked' || this.state.kind === 'unloadable') this.state = IDLE;
    else if (this.state.kind === 'ready') this.#goOn();
  }

  withdraw(): Promise<void> {
    return this.#close(WITHDRAWN, (worker) => worker.stop(this.#rooms.limits.drainMs));
  }

  /** `graceMs` 0 ends it at once. */
  shutdown(graceMs: number): Promise<void> {
    return this.#close(STOPPING, (worker) => (graceMs === 0 ? worker.kill() : worker.stop(graceMs)));
  }

  async #close(why: Refusal, end: (worker: LiveWorker) => void): Promise<void> {
    this.closed = why;
    this.#isWanted = false;
    this.#endWait();
    this.#waiting.refuseAll(why);
    const workers = this.#workers;
    if (this.worker !== null) this.state = { kind: 'draining', worker: this.worker };
    this.#succession.endTrial();
    await endWorkers(workers, end);
  }

  /** Starts what is needed: a worker for the work, or a trial of a changed plan. */
  #goOn({ isNeeded = this.#waiting.size > 0 || (this.#isKept && this.#isWanted) } = {}): void {
    if (this.closed !== null) return;
    if (this.state.kind === 'ready')
      this.#succession.consider(this.state.worker, this.plan, () => this.#launch());
    else if (this.state.kind === 'idle' && isNeeded && !this.#succession.isClearing)
      this.state = { kind: 'starting', worker: this.#launch() }; // RE2
  }

  #launch(): LiveWorker {
    this.starts += 1;
    this.#isWanted = true;
    return new LiveWorker(this.#rooms, this.plan, {
      onReady: (worker) => this.#useLoads(worker),
      onReport: (line) => this.#rooms.reports.reported(this, line),
      onIdle: (worker) => void (!this.#isKept && worker === this.worker && this.evict()),
      onEnded: (worker, ending, unanswered) => this.#forget(worker, ending, unanswered),
    });
  }

  /** What is loaded gets work at once; a trial is judged when it is known of all its files. */
  #useLoads(worker: LiveWorker): void {
    if (this.#succession.isTrial(worker)) return void (worker.isLoaded && this.#judgeTrial(worker));
    if (worker !== this.worker) return;
    if (this.state.kind === 'ready') return this.#submitAgain();
    if (this.state.kind !== 'starting') return;
    if (worker.problems.size === worker.plan.modules.length) return this.#refuseAll(worker);
    this.#serveWith(worker);
    this.#goOn();
  }

  #serveWith(worker: LiveWorker, how = { isNewVersion: false }): void {
    this.#rooms.reports.started(this, worker, how);
    this.state = { kind: 'ready', worker };
    this.#submitAgain();
  }

  #submitAgain(): void {
    for (const work of this.#waiting.takeAll()) this.submit(work);
  }

  /** None of its files could be loaded. */
  #refuseAll(worker: LiveWorker): void {
    const { problems, plan } = worker;
    this.#succession.leave(worker);
    worker.kill(describeRefusal(problems));
    this.state = plan.digest === this.plan.digest ? { kind: 'unloadable', problems } : IDLE;
    if (this.state.kind === 'unloadable') this.#rooms.reports.refused(this, problems);
    this.#submitAgain();
  }

  #judgeTrial(trial: LiveWorker): void {
    const old = this.worker;
    const problems = this.#succession.judge(trial, old);
    if (problems !== null) return this.#refuse(problems);
    this.#succession.leave(old);
    old?.stop(this.#rooms.limits.drainMs, 'a new version took its place');
    this.#serveWith(trial, { isNewVersion: true });
  }

  #refuse(problems: Problems): void {
    this.#rooms.reports.refused(this, problems);
    this.#submitAgain();
  }

  #forget(worker: LiveWorker, ending: ResidentEnding, unanswered: readonly Work[]): void {
    const retries = this.#crashes.composeRetries(() => this.#goOn());
    const refused = this.#succession.forget(worker, ending, retries);
    if (refused !== null) this.#refuse(refused);
    if (worker === this.worker) this.#loseWorker(worker, ending);
    this.#rooms.reports.ended(this, worker, ending);
    for (const work of unanswered)
      if (this.closed !== STOPPING && isRepeated(work, ending)) this.submit(work); // RE3
      else loseWork(work, ending);
    this.#goOn();
  }

  #loseWorker(worker: LiveWorker, ending: ResidentEnding): void {
    const isCrash = !worker.isEndAsked && this.closed === null;
    const block = isCrash ? this.#crashes.add(ending) : null;
    if (block !== null) return this.#block(block, ending); // RE4
    const trial = this.#succession.takeTrial();
    if (trial !== null) this.state = { kind: 'starting', worker: trial }; // KW2
    else this.state = isCrash ? this.#crashes.waitToRespawn(() => this.#endWait()) : IDLE;
  }

  #block(state: KeyState, ending: ResidentEnding): void {
    this.state = state;
    this.#succession.endTrial();
    this.#rooms.reports.blocked(this, ending);
    this.#submitAgain();
  }

  #endWait(): void {
    if (this.state.kind !== 'waiting') return;
    this.state.cancel();
    this.state = IDLE;
    this.#goOn();
  }
}
