/** A runtime without processes: roles run here, and are repeated as a guest would repeat them. */
import { createHash } from 'node:crypto';
import {
  describeStep,
  type EndedRun,
  type GuestFailure,
  type ResidentView,
  type RoleContext,
  type StepOutcome,
  type StepRequest,
  type Workflow,
} from '@caisson/protocol';
import { createOutcomes } from '../../../worker/src/resident/guest/outcomes.ts';
import type { ResidentPlan, RunningTurn, TurnOutcome, WorkerRuntime } from './contract.ts';

type Order = Parameters<WorkerRuntime['turn']>[1];
type OnStep = Parameters<WorkerRuntime['turn']>[2];

class GuestFailed extends Error {
  readonly failure: GuestFailure;
  constructor(failure: GuestFailure) {
    super(failure.detail);
    this.failure = failure;
  }
}

/** One turn, as the guest makes it. */
class FakeTurn implements RunningTurn {
  readonly #order: Order;
  readonly #onStep: OnStep;
  readonly #done = Promise.withResolvers<TurnOutcome>();
  /** Given to the role as by a guest. */
  readonly #outcomes: ReturnType<typeof createOutcomes>;
  readonly #aborted = new AbortController();
  readonly outcome = this.#done.promise;
  /** Whether it does not stop when it is asked to. */
  isStubborn = (): boolean => false;
  #ordinal = -1;
  #isOver = false;

  constructor(workflow: Workflow, order: Order, onStep: OnStep) {
    this.#order = order;
    this.#outcomes = createOutcomes(order.steps);
    this.#onStep = onStep;
    void this.#run(workflow);
  }

  answerStep(ordinal: number, outcome: StepOutcome): void {
    if (!this.#isOver) this.#outcomes.add(ordinal, outcome);
  }

  abandon(why: string): void {
    if (this.isStubborn()) return;
    this.#aborted.abort();
    this.end({ kind: 'failed', failure: { kind: 'aborted', detail: why } });
  }

  silence(): void {
    this.#isOver = true;
  }

  end(outcome: TurnOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#done.resolve(outcome);
  }

  async #run({ route, roles }: Workflow): Promise<void> {
    await Promise.resolve();
    const { payload, messages } = this.#order;
    const role = route({ payload, messages });
    if (role === null) return this.end({ kind: 'end' });
    try {
      const content = await roles[role]?.(this.#context());
      this.end({ kind: 'message', role, content: content ?? null });
    } catch (error) {
      const threw: GuestFailure = { kind: 'threw', detail: (error as Error).message };
      this.end({ kind: 'failed', role, failure: error instanceof GuestFailed ? error.failure : threw });
    }
  }

  #context(): RoleContext {
    const { threadId, round, trigger, payload, messages } = this.#order;
    return {
      ...{ threadId, round, trigger, payload, messages, projectRoot: '/project' },
      signal: this.#aborted.signal,
      log: () => undefined,
      dispatch: async (run) =>
        (await this.#step({ kind: 'dispatch', request: { ...run }, waits: true })) as EndedRun,
      start: async (run) =>
        (await this.#step({ kind: 'dispatch', request: { ...run }, waits: false })) as string,
      wait: async (runIds) => (await this.#step({ kind: 'wait', runIds: [...runIds] })) as EndedRun[],
      ask: async (question, { options, deadlineMs } = {}) =>
        (await this.#step({
          kind: 'ask',
          question,
          ...(options === undefined ? {} : { options: [...options] }),
          ...(deadlineMs === undefined ? {} : { deadlineMs }),
        })) as string,
      sleep: async (ms) => void (await this.#step({ kind: 'sleep', ms })),
      step: async <T>(name: string, work: () => T | Promise<T>) =>
        (await this.#step({ kind: 'value', name }, work)) as T,
    };
  }

  async #step(request: StepRequest, work?: () => unknown): Promise<unknown> {
    const ordinal = (this.#ordinal += 1);
    const digest = createHash('sha256').update(describeStep(request)).digest('hex');
    const known = this.#order.steps.find((step) => step.ordinal === ordinal);
    if (known !== undefined && known.digest !== digest) {
      this.#onStep({ kind: 'step', id: 'turn', ordinal, request });
      throw new GuestFailed({ kind: 'changed', detail: `step ${ordinal} has changed` });
    }
    const isOver = this.#outcomes.isKnown(ordinal);
    const outcome = this.#outcomes.next(ordinal);
    if (!isOver) await this.#ask(ordinal, request, work);
    const { ok, value } = await outcome;
    if (!ok) throw new Error(String(value));
    return value;
  }

  async #ask(ordinal: number, request: StepRequest, work?: () => unknown): Promise<void> {
    const say: OnStep = (line) => void (this.#isOver || this.#onStep(line));
    say({ kind: 'step', id: 'turn', ordinal, request });
    if (work !== undefined) {
      const how = { kind: 'worked', id: 'turn', ordinal } as const;
      await (async () => work())().then(
        (value) => say({ ...how, ok: true, value: value ?? null }),
        (error: Error) => say({ ...how, ok: false, value: error.message }),
      );
    }
  }
}

export class FakeRuntime implements WorkerRuntime {
  readonly workflows: Record<string, Workflow>;
  readonly evicted: string[] = [];
  /** Orders of turns, in their order. */
  readonly orders: Order[] = [];
  state: ResidentView['state'] = 'ready';
  isStubborn = false;
  readonly #turns = new Set<FakeTurn>();
  #isDead = false;

  constructor(workflows: Record<string, Workflow>) {
    this.workflows = workflows;
  }

  start(): Promise<boolean> {
    return Promise.resolve(!this.#isDead);
  }

  turn(key: string, order: Order, onStep: OnStep): RunningTurn {
    if (this.#isDead) return { outcome: new Promise(() => undefined), answerStep() {}, abandon() {} };
    // What crosses to a worker is JSON.
    const copy = JSON.parse(JSON.stringify(order)) as Order;
    this.orders.push(copy);
    const workflow = this.workflows[key.replace('workflow.', '')];
    if (workflow === undefined) throw new Error(`${key} was not declared`);
    const turn = new FakeTurn(workflow, copy, onStep);
    turn.isStubborn = () => this.isStubborn;
    if (this.state === 'blocked')
      turn.end({ kind: 'failed', failure: { kind: 'crashed', detail: 'blocked' } });
    this.#turns.add(turn);
    void turn.outcome.then(() => this.#turns.delete(turn));
    return turn;
  }

  /** The worker ends, with all its turns. */
  crash(): void {
    for (const turn of this.#turns)
      turn.end({ kind: 'failed', failure: { kind: 'crashed', detail: 'the worker ended' } });
  }

  /** Its host ends it. */
  interrupt(): void {
    for (const turn of this.#turns) turn.end({ kind: 'interrupted' });
  }

  /** It does nothing more, and reports nothing. */
  kill(): void {
    this.#isDead = true;
    for (const turn of this.#turns) turn.silence();
  }

  get underWay(): number {
    return this.#turns.size;
  }

  declare(_plan: ResidentPlan): void {}
  async withdraw(): Promise<void> {}
  async compute() {
    return { durationMs: 0, signals: [] };
  }
  delivered(): void {}
  async drain(): Promise<void> {}
  async evict(key: string): Promise<void> {
    this.evicted.push(key);
    this.crash();
  }
  async reset(): Promise<boolean> {
    this.state = 'ready';
    return true;
  }
  async restart(): Promise<boolean> {
    this.crash();
    return true;
  }
  view(key: string): ResidentView {
    return { key, state: this.state, serves: [], crashes: 0, starts: 0, underWay: this.underWay };
  }
  list() {
    return [];
  }
  async shutdown(): Promise<void> {
    this.crash();
  }
}
