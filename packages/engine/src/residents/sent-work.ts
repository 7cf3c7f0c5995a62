/** The work that one worker was given and has not answered, and when each answer is late. */
import type { Work } from './work.ts';

interface Sent {
  readonly work: Work;
  /** Infinity for a turn that nobody gave up. */
  lateAtMs: number;
  isLate: boolean;
}

export class SentWork {
  readonly #slackMs: number;
  readonly #sent = new Map<string, Sent>();
  readonly #idOf = new Map<Work, string>();

  /** `slackMs`: beyond a limit that the worker enforces itself. */
  constructor(slackMs: number) {
    this.#slackMs = slackMs;
  }

  get size(): number {
    return this.#sent.size;
  }

  add(id: string, work: Work, nowMs: number): void {
    this.#sent.set(id, { work, lateAtMs: this.#lateAtMs(work, nowMs), isLate: false });
    this.#idOf.set(work, id);
  }

  find(id: string): Work | undefined {
    return this.#sent.get(id)?.work;
  }

  idOf(work: Work): string | undefined {
    return this.#idOf.get(work);
  }

  /** The worker was asked to give it up: from now on it has the grace. */
  expectWithin(id: string, graceMs: number, nowMs: number): void {
    const sent = this.#sent.get(id);
    if (sent !== undefined) sent.lateAtMs = Math.min(sent.lateAtMs, nowMs + graceMs + this.#slackMs);
  }

  remove(id: string): void {
    const work = this.find(id);
    this.#sent.delete(id);
    if (work !== undefined) this.#idOf.delete(work);
  }

  /** All of it, and forgets it. */
  take(): Work[] {
    const all = [...this.#idOf.keys()];
    this.#sent.clear();
    this.#idOf.clear();
    return all;
  }

  /** Whether an answer does not come: it is late, and was late when this was asked the last time. */
  isOverdue(nowMs: number): boolean {
    const late = [...this.#sent.values()].filter(({ lateAtMs }) => nowMs >= lateAtMs);
    const isOverdue = late.some(({ isLate }) => isLate);
    for (const sent of late) sent.isLate = true;
    return isOverdue;
  }

  /** How long the last of the answers that have a limit may take. */
  longestMs(nowMs: number): number {
    const limited = [...this.#sent.values()].filter(({ lateAtMs }) => lateAtMs !== Infinity);
    return Math.max(0, ...limited.map(({ lateAtMs }) => lateAtMs - nowMs));
  }

  #lateAtMs(work: Work, nowMs: number): number {
    if (work.kind === 'turn') return Infinity;
    const { timeoutMs, graceMs } = work.order;
    return nowMs + timeoutMs + graceMs + this.#slackMs;
  }
}
