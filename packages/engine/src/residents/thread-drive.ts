/**
 * Brings one started thread to its ending.
 *
 *   turning ──message──► turning (the next round) ──the router names no role──► done
 *      ├──the worker ended by itself──► turning again, from the recorded steps (parked, if it waits); too often ──► crashed
 *      ├──all its steps are open for a while, and its turn is given up──► parked ──a step is over──► turning
 *      ├──the key is not declared, blocked, or its file cannot be loaded──► held ──resume──► turning
 *      └──cancelled, out of time, too many rounds, the role failed──► ended
 *
 * Its time counts while it is driven, and not while it only sleeps, asks a person, or is held (thread-time.ts).
 */
import { MAX_PAYLOAD_BYTES, type GuestFailure, type ThreadEnding, type ThreadRow } from '@caisson/protocol';
import { CANCELLED, cancelRuns } from './cancel-runs.ts';
import type { StepRooms } from './carry-out-step.ts';
import type { RunningTurn } from './contract.ts';
import type { CountedTime } from './counted-time.ts';
import { CurrentTurn, NONE, type TurnResult } from './current-turn.ts';
import { whileGivenUp } from './given-up-records.ts';
import { sizeOf } from './plan-step.ts';
import { recordEnding, recordMessage } from './thread-records.ts';
import { readHistory } from './thread-history.ts';
import { keyOfWorkflow } from './plans.ts';
import { ThreadSteps } from './thread-steps.ts';
import { composeTurn, findBeyond } from './turn-order.ts';
import { isHeld, TurnCrashes } from './turn-repeats.ts';

const DEFAULT_GRACE_MS = 5000;

export class ThreadDrive {
  readonly threadId: string;
  readonly workflow: string;
  readonly #rooms: StepRooms;
  readonly #onChange: () => void;
  readonly #steps: ThreadSteps;
  readonly #time: CountedTime;
  readonly #left = new AbortController();
  readonly #turn = new CurrentTurn();
  #news = Promise.withResolvers<void>();
  readonly #crashes = new TurnCrashes();
  #ending: Promise<boolean> | null = null;
  #isLeaving = false;
  #isHeld = false; // its key cannot work, and it waits for nothing else

  /** `onChange`: it began, or no longer needs a worker. */
  constructor(rooms: StepRooms, row: ThreadRow, onChange: () => void) {
    const { threadId, workflow } = row;
    this.threadId = threadId;
    this.workflow = workflow;
    this.#rooms = rooms;
    this.#onChange = onChange;
    const thread = { threadId, workflow, record: rooms.recorder.of(threadId) };
    this.#steps = new ThreadSteps(rooms, thread, {
      onOver: (...answer) => this.#answer(...answer),
      onBroken: (why) => void this.end('crashed', why),
      onTooLarge: (why) => void this.end('failed', why),
    });
    this.#time = rooms.times.open(row, (why) => void this.end('timeout', why));
  }

  /** Resolves when it has ended, or was left. Never rejects. */
  async run({ isRecovered }: { readonly isRecovered: boolean }): Promise<void> {
    try {
      const row = this.#rooms.ledger.thread(this.threadId);
      if (row === null) return;
      this.#steps.begin(row.rounds, readHistory(this.#rooms.ledger, row).steps);
      this.#changed();
      if (isRecovered && this.#steps.isWaiting) await this.#untilNews();
      while (!this.#isOver && !this.#isLeaving) await this.#take(await this.#makeTurn());
    } catch (error) {
      if (!this.#left.signal.aborted) void this.end('crashed', (error as Error).message);
    } finally {
      await this.#ending;
      this.#time.pause();
      this.#steps.stop();
    }
  }

  /** Whether it needs no worker now. */
  get isIdle(): boolean {
    return !this.#turn.isUnderWay || this.#steps.isWaiting;
  }

  get hasTurn(): boolean {
    return this.#turn.isUnderWay && !this.#turn.isParked;
  }

  /** Gives up its turn, which is made again when a step is over. */
  park(): void {
    if (this.#steps.isWaiting) this.#turn.park();
  }

  /** Its key may be able to work again. */
  resume(): void {
    this.#steps.retry();
    this.#news.resolve();
  }

  /** Ends it, once. False when it had ended before, or could not be recorded. */
  end(status: ThreadEnding, detail?: string): Promise<boolean> {
    return (this.#ending ??= this.#end(status, detail).catch((error: unknown) => {
      this.#rooms.warn(`the ending of ${this.threadId} was not recorded: ${(error as Error).message}`);
      return false;
    }));
  }

  /** The host ends. What is computed now is finished; what waits is left to the next host. */
  finish(): void {
    this.#isLeaving = true;
    if (this.isIdle) this.leave();
  }

  /** Left as it is recorded. */
  leave(): void {
    this.#isLeaving = true;
    this.#left.abort();
    this.#steps.stop();
    this.#turn.giveUp();
    this.#news.resolve();
  }

  /** Before a step is over, or the key may work again. A step that was over meanwhile may have been answered too late. */
  get #needsNoTurn(): boolean {
    return isHeld(this.#rooms, this.workflow) || (this.#steps.isWaiting && !this.#turn.isAnswered);
  }

  get #isOver(): boolean {
    return this.#left.signal.aborted || this.#ending !== null;
  }

  async #makeTurn(): Promise<TurnResult> {
    const { ledger, runtime } = this.#rooms;
    const row = ledger.thread(this.threadId);
    if (row === null || row.endedAt !== undefined) {
      this.#ending ??= Promise.resolve(false);
      return NONE;
    }
    const order = composeTurn(ledger, row, { steps: this.#steps.recorded(), graceMs: this.#graceMs() });
    if (typeof order === 'string') return this.#endWith('failed', order);
    const beyond = findBeyond(row);
    const turn = this.#turn.begin(
      (onStep) => runtime.turn(keyOfWorkflow(this.workflow), order, onStep),
      (step) => {
        if (this.#isOver) return;
        if (beyond !== null) this.#endWith('too-long', beyond);
        else void this.#steps.take(step).then(() => this.#changed());
      },
    );
    this.#onChange();
    const outcome = await turn;
    this.#turn.forget();
    return outcome.kind === 'message' && beyond !== null ? this.#endWith('too-long', beyond) : outcome;
  }

  async #take(outcome: TurnResult): Promise<void> {
    this.#onChange();
    if (this.#isOver) return;
    switch (outcome.kind) {
      case 'none':
        return this.#turn.isParked ? this.#untilNews() : undefined;
      case 'message':
        return this.#addMessage(outcome.role, outcome.content ?? null);
      case 'end':
        return void this.end('done');
      case 'failed':
        return this.#takeFailure(outcome.failure, outcome.role);
      case 'interrupted':
        return this.#needsNoTurn ? this.#untilNews() : undefined;
    }
  }

  async #addMessage(role: string, content: unknown): Promise<void> {
    if (sizeOf(content) > MAX_PAYLOAD_BYTES)
      return void this.end('failed', `the message of ${role} is larger than ${MAX_PAYLOAD_BYTES} bytes`);
    this.#steps.stop(); // what it did not wait for has no effect any more
    const round = await recordMessage(this.#rooms, this.threadId, { role, content }, this.#left.signal);
    if (this.#isOver) return;
    this.#steps.begin(round + 1);
    this.#crashes.clear();
    this.#changed();
  }

  async #takeFailure({ kind, detail }: GuestFailure, role = 'the router'): Promise<void> {
    if (this.#isLeaving) return;
    if (isHeld(this.#rooms, this.workflow)) return this.#untilNews();
    if (kind === 'changed') return void this.end('crashed', detail);
    if (kind !== 'crashed' && kind !== 'aborted')
      return void this.end('failed', `${role} ${kind}: ${detail}`);
    if (this.#needsNoTurn) return this.#untilNews();
    const why = this.#crashes.add(this.#steps.progress, detail);
    if (why !== null) void this.end('crashed', why);
  }

  #answer(...answer: Parameters<RunningTurn['answerStep']>): void {
    this.#turn.answer(...answer);
    this.#changed();
    this.#news.resolve();
  }

  #changed(): void {
    if (this.#isOver || this.#isHeld || this.#steps.isPaused) this.#time.pause();
    else this.#time.count();
    if (this.#isLeaving && this.isIdle) this.leave();
    this.#onChange();
  }

  /** Until a step is over, the key may work again, or nothing is to be done any more. */
  async #untilNews(): Promise<void> {
    if (this.#isOver || this.#isLeaving) return;
    this.#news = Promise.withResolvers<void>();
    this.#isHeld = isHeld(this.#rooms, this.workflow) && !this.#steps.isWaiting;
    this.#changed();
    await this.#news.promise;
    this.#isHeld = false;
    this.#changed();
  }

  #endWith(status: ThreadEnding, detail: string): TurnResult {
    void this.end(status, detail);
    return NONE;
  }

  async #end(status: ThreadEnding, detail?: string): Promise<boolean> {
    if (status !== 'cancelled' && status !== 'timeout') return this.#conclude(status, detail, []);
    const runs = this.#steps.awaitedRuns;
    this.#steps.stop(CANCELLED);
    return whileGivenUp(this.#rooms, this.threadId, { status, detail }, () =>
      this.#conclude(status, detail, runs),
    );
  }

  /** `runs` are cancelled while the turn is ended. */
  async #conclude(
    status: ThreadEnding,
    detail: string | undefined,
    runs: readonly string[],
  ): Promise<boolean> {
    this.#steps.stop();
    this.#time.pause();
    this.#news.resolve();
    const turnEnded = this.#turn.end(this.#rooms.clock, status, this.#graceMs(), this.#left.signal);
    await Promise.all([cancelRuns(this.#rooms, runs), turnEnded]);
    const isEnded = await recordEnding(this.#rooms, this.threadId, status, detail, this.#left.signal);
    this.#turn.giveUp();
    return isEnded;
  }

  #graceMs(): number {
    return this.#rooms.findWorkflow(this.workflow)?.graceMs ?? DEFAULT_GRACE_MS;
  }
}
