/** The workers of all keys. What a key does is in keyed-worker.ts; here it is found, shown and recorded. */
import { definedOnly, type ResidentEnding, type ResidentLine, type ResidentView } from '@caisson/protocol';
import type { Clock, Stamp } from '@caisson/ground';
import { NO_ATTEMPT, type Ledger, type Recorder, type RunRecord } from '../ledger/index.ts';
import type { Emission, ResidentPlan, ResidentStarter, TurnOutcome, WorkerRuntime } from './contract.ts';
import { openOrigin, sealOrigin } from './compute-origin.ts';
import { describeEnding, describeProblems } from './describe-problems.ts';
import type { Key, KeyReports, KeyRooms } from './key-state.ts';
import { DeclaredKey, describeDeclared, KeyTable } from './key-table.ts';
import { KeyedWorker } from './keyed-worker.ts';
import { DEFAULT_LIMITS, type RuntimeLimits } from './runtime-limits.ts';
import { failWork, type Work } from './work.ts';

export interface WorkerRuntimeOptions {
  readonly starter: Pick<ResidentStarter, 'start'>;
  readonly clock: Clock;
  readonly recorder: Pick<Recorder, 'of'>;
  /** Keeps which keys are blocked, so that a new daemon does not forget it. */
  readonly ledger: Pick<Ledger, 'kv' | 'whenFree'>;
  /** Seals what led to a compute: a guest keeps it for what it emits, and cannot make it up. */
  readonly stamp: Pick<Stamp, 'wrap' | 'unwrap'>;
  readonly limits?: Partial<RuntimeLimits>;
  warn(message: string): void;
  /** What a compute emitted whose answer was lost. */
  onUndelivered(sense: string, emission: Emission): void;
}

const BLOCKED_SPACE = 'resident-blocked';

export function createWorkerRuntime(options: WorkerRuntimeOptions): WorkerRuntime {
  return new KeyedRuntime(options);
}

class KeyedRuntime implements WorkerRuntime {
  readonly #options: WorkerRuntimeOptions;
  readonly #limits: RuntimeLimits;
  readonly #record: RunRecord;
  readonly #rooms: KeyRooms;
  readonly #blocks: Map<string, string>;
  readonly #keys: KeyTable;
  readonly #endings = new Map<string, NonNullable<ResidentView['lastEnding']>>();
  readonly #reports: KeyReports = {
    started: ({ plan: { key } }, { process, startedMs }, { isNewVersion }) => {
      const startMs = this.#options.clock.monotonicMs() - startedMs;
      const said = {
        key,
        resident: process?.resident ?? '',
        startMs,
        ...(isNewVersion ? { isNewVersion } : {}),
      };
      this.#record.publish('resident.started', said, 0);
    },
    reported: (key, line) =>
      line.kind === 'undelivered' ? this.#passOn(key, line) : this.#reportLog(key, line),
    ended: (key, { process }, ending) => this.#reportEnd(key, process?.resident ?? '', ending),
    blocked: (key, ending) => this.#reportBlock(key, ending),
    refused: ({ plan: { key }, state }, problems) => {
      const isHeld = state.kind === 'unloadable';
      const what = isHeld ? `${key} cannot work` : `the old version of ${key} goes on`;
      const remedy = `(tried again when its files change, or by caisson residents reset ${key})`;
      this.#options.warn(`${what}: ${describeProblems(problems).detail}\n${remedy}`);
    },
  };
  /** Senses that were warned about. */
  readonly #forgers = new Set<string>();
  #lastId = 0;
  #isStopped = false;

  constructor(options: WorkerRuntimeOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#record = options.recorder.of(null);
    const nextId = (): string => `w${(this.#lastId += 1)}`;
    this.#rooms = { ...options, limits: this.#limits, reports: this.#reports, nextId };
    this.#keys = new KeyTable(({ plan, isKept }) => {
      const block = this.#blocks.get(plan.key) ?? null;
      return new KeyedWorker(this.#rooms, plan, isKept, block);
    });
    this.#blocks = new Map(
      options.ledger.kv.list(BLOCKED_SPACE).map(({ key, value }) => [key, String(value)]),
    );
  }

  declare(plan: ResidentPlan, { isKept }: { readonly isKept: boolean }): void {
    if (this.#isStopped) return;
    this.#keys.declare(new DeclaredKey(plan, isKept));
    if (this.#blocks.has(plan.key)) this.#keys.use(plan.key);
  }

  async withdraw(key: string): Promise<void> {
    const found = this.#keys.findUsed(key);
    if (found === undefined) return this.#keys.delete(key);
    await found.withdraw();
    if (found.closed !== null) this.#keys.delete(key);
  }

  compute(
    ...[key, { causes, ...asked }]: Parameters<WorkerRuntime['compute']>
  ): ReturnType<WorkerRuntime['compute']> {
    const { name: sense, computeId } = asked;
    const order = { ...asked, origin: sealOrigin(this.#options.stamp, { sense, computeId, causes }) };
    return new Promise((settle) =>
      this.#submit(key, { kind: 'compute', order, crashes: 0, stops: 0, settle }),
    );
  }

  delivered(key: string, sense: string, computeId: string): void {
    this.#keys.findUsed(key)?.worker?.deliver(sense, computeId);
  }

  turn(...[key, order, onStep]: Parameters<WorkerRuntime['turn']>): ReturnType<WorkerRuntime['turn']> {
    const { promise: outcome, resolve: settle } = Promise.withResolvers<TurnOutcome>();
    const work: Work = { kind: 'turn', order, onStep, settle };
    this.#submit(key, work);
    return {
      outcome,
      answerStep: (ordinal, answer) => this.#keys.findUsed(key)?.answerStep(work, ordinal, answer),
      abandon: (...how) => this.#keys.findUsed(key)?.abandon(work, ...how),
    };
  }

  start(key: string): Promise<boolean> {
    return Promise.resolve(this.#keys.use(key)?.need() === true);
  }

  async drain(key: string): Promise<void> {
    await this.#keys.findUsed(key)?.drain();
  }

  async evict(key: string): Promise<void> {
    await this.#keys.findUsed(key)?.evict();
  }

  async restart(key: string): Promise<boolean> {
    const found = this.#keys.use(key);
    await found?.restart();
    return found !== undefined;
  }

  async reset(key: string): Promise<boolean> {
    const found = this.#keys.use(key);
    if (found === undefined) return false;
    this.#endings.delete(key);
    const wasBlocked = found.state.kind === 'blocked';
    if (wasBlocked) {
      await this.#record.append('resident.reset', { key }, NO_ATTEMPT);
      const { kv, whenFree } = this.#options.ledger;
      await whenFree(() => kv.delete(BLOCKED_SPACE, key));
      this.#blocks.delete(key);
    }
    found.reset();
    return true;
  }

  view(key: string): ResidentView | null {
    const found = this.#keys.find(key);
    return found === undefined || (found instanceof KeyedWorker && found.closed !== null)
      ? null
      : this.#describe(found);
  }

  list(): readonly ResidentView[] {
    return this.#keys.all().map((key) => this.#describe(key));
  }

  async shutdown({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#isStopped = true;
    const keys = this.#keys.all().filter((key) => key instanceof KeyedWorker);
    await Promise.all(keys.map((key) => key.shutdown(key.plan.kind === 'senses' ? 0 : graceMs)));
  }

  #submit(key: string, work: Work): void {
    const found = this.#keys.use(key);
    if (found === undefined)
      failWork(work, { failure: { kind: 'invalid', detail: `${key} is not configured` } });
    else found.submit(work);
  }

  #describe(key: KeyedWorker | DeclaredKey): ResidentView {
    if (key instanceof DeclaredKey) return describeDeclared(key);
    const { plan, state, worker, starts, underWay, problems } = key;
    return {
      key: plan.key,
      state: state.kind,
      serves: plan.modules.map(({ name }) => name),
      crashes: key.countCrashes(),
      starts,
      underWay,
      ...definedOnly({
        pid: worker?.process?.pid,
        readySince: worker?.readySince,
        memoryBytes: worker?.memoryBytes,
        unenforced: worker?.process?.unenforced ?? undefined,
        blockReason: state.kind === 'blocked' ? state.detail : undefined,
        lastEnding: this.#endings.get(plan.key),
      }),
      ...(problems.size === 0 ? {} : { problems: Object.fromEntries(problems) }),
    };
  }

  #reportLog({ plan: { key } }: Key, line: Extract<ResidentLine, { kind: 'logged' | 'log-dropped' }>): void {
    const said =
      line.kind === 'logged' ? line : { name: key, text: `${line.lines} lines were not passed on` };
    const { name, text } = said;
    const threadId = line.kind === 'logged' ? line.threadId : undefined;
    this.#record.publish('resident.logged', { key, name, text, ...definedOnly({ threadId }) }, 0);
  }

  /** What a guest forges concerns its own group only, and has the causes of one of its own computes. */
  #passOn({ plan }: Key, line: Extract<ResidentLine, { kind: 'undelivered' }>): void {
    const { name: sense, computeId, signals, origin } = line;
    const { stamp, warn, onUndelivered } = this.#options;
    if (plan.kind !== 'senses' || plan.modules.every(({ name }) => name !== sense)) return;
    const causes = openOrigin(stamp, origin, { sense, computeId });
    if (causes !== null) return onUndelivered(sense, { computeId, causes, signals });
    this.delivered(plan.key, sense, computeId); // no host takes it
    if (this.#forgers.has(sense)) return;
    this.#forgers.add(sense);
    warn(`${sense}: signals of a compute that this project did not ask for were dropped`);
  }

  #reportEnd({ plan: { key }, state }: Key, resident: string, ending: ResidentEnding): void {
    this.#endings.set(key, { ...ending, at: this.#options.clock.now().toISOString() });
    const respawn = state.kind === 'waiting' ? { respawnMs: this.#limits.respawnMs } : {};
    this.#record.publish('resident.ended', { key, resident, ...ending, ...respawn }, 0);
  }

  #reportBlock(blocked: Key, ending: ResidentEnding): void {
    const { key } = blocked.plan;
    const { windowMs } = blocked.plan.grant.crashes ?? this.#limits.crashes;
    const detail = describeEnding(ending);
    this.#record.keep(
      'resident.blocked',
      { key, crashes: blocked.countCrashes(), windowMs, detail },
      NO_ATTEMPT,
    );
    this.#options.warn(
      `${key} is blocked (${detail}). So that it works again: caisson residents reset ${key}`,
    );
    this.#blocks.set(key, detail);
    const { ledger, warn } = this.#options;
    void ledger
      .whenFree(() => ledger.kv.set(BLOCKED_SPACE, key, detail))
      .catch((error: Error) => warn(`the block of ${key} holds until this daemon ends: ${error.message}`));
  }
}
