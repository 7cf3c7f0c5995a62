/** One worker of a pool, added up from what is recorded and told of its run. */
import {
  definedOnly,
  isEnding,
  isPushedByItself,
  type EnvelopeOf,
  type EventEnvelope,
} from '@caisson/protocol';
import type { PoolTask, Worker } from './contract.ts';

export class KnownWorker {
  #worker: Worker;
  #isQueued = false;
  #hasEnded = false;
  readonly #pushes: boolean;
  /** The newest event that is counted. */
  #lastSeq: number;
  #earlierCalls = 0;
  /** Of this attempt: as they began, and as its worker counts them; it records no more than a limit. */
  #startedCalls = 0;
  #toldCalls = 0;

  constructor(accepted: EnvelopeOf<'dispatch.accepted'>) {
    const { id, description, scope, acceptance, branch, priority } = accepted.task;
    const currentTask: PoolTask = {
      id,
      description,
      ...definedOnly({ scope, acceptance, branch, priority }),
    };
    this.#worker = { id: `ephemeral-${id}`, currentTask, startedAt: Date.parse(accepted.at) };
    this.#pushes = accepted.repository?.push === true;
    this.#lastSeq = accepted.seq;
  }

  get worker(): Worker {
    return this.#worker;
  }

  /** It waits for a place of the project, and is no worker yet. */
  get isQueued(): boolean {
    return this.#isQueued;
  }

  toolCalls(): number {
    return this.#earlierCalls + Math.max(this.#startedCalls, this.#toldCalls);
  }

  /** What its host says of all attempts together. */
  tell(toolCalls: number): void {
    this.#toldCalls = Math.max(this.#toldCalls, toolCalls - this.#earlierCalls);
  }

  /** Counts an event, once. Returns whether nothing more comes: its branch is pushed, or will not be. */
  add(event: EventEnvelope): boolean {
    const isTold = event.seq === 0;
    if (!isTold && event.seq <= this.#lastSeq) return false;
    if (!isTold) this.#lastSeq = event.seq;
    switch (event.type) {
      case 'run.queued':
        this.#isQueued = true;
        return false;
      case 'repository.fetched':
      case 'attempt.launched':
        this.#leaveQueue(event.at);
        return false;
      case 'tool.started':
        this.#startedCalls += 1;
        return false;
      case 'worker.progress':
        this.#toldCalls = Math.max(this.#toldCalls, event.toolCalls ?? 0);
        return false;
      case 'attempt.ended':
        this.#earlierCalls += event.usage?.toolCalls ?? Math.max(this.#startedCalls, this.#toldCalls);
        this.#startedCalls = 0;
        this.#toldCalls = 0;
        return false;
      case 'branch.pushed':
      case 'branch.push-failed':
        return true;
      case 'workspace.removed':
        return this.#hasEnded; // without an outcome: its push was stopped
      default:
        return isEnding(event) && this.#end(event);
    }
  }

  #leaveQueue(at: string): void {
    if (this.#isQueued) this.#worker = { ...this.#worker, startedAt: Date.parse(at) };
    this.#isQueued = false;
  }

  #end(ending: Extract<EventEnvelope, { type: EndingType }>): boolean {
    this.#hasEnded = true;
    return !(this.#pushes && ending.branch?.status === 'created' && isPushedByItself(ending.type));
  }
}

type EndingType = Parameters<typeof isPushedByItself>[0];
