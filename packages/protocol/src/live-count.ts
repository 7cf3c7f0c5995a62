/**
 * How far a run under way is, added up from its events. One place counts, so that a list, a page and a terminal show the
 * same numbers. The host that drives the run knows what is only told; from the record alone the sum is a little behind.
 */
import { isTerminal, type DataOf, type EventContent, type UnknownContent } from './events.ts';
import type { LiveRun, RunPhase } from './live-run.ts';
import { useAfter, type Use } from './live-use.ts';
import type { Usage } from './result.ts';
import type { HealthState } from './run-events.ts';

type CountedEvent = { readonly attempt: number; readonly at: string } & (EventContent | UnknownContent);

interface Counts {
  turns: number;
  toolCalls: number;
  tokens: number;
  /** Null is unknown, undefined that nothing was reported. */
  costUsd: number | null | undefined;
}

const NOTHING: Counts = { turns: 0, toolCalls: 0, tokens: 0, costUsd: undefined };
/** A worker that reports starts and no ends costs no more memory than this. */
const MAX_OPEN_CALLS = 64;
const MAX_TEXT = 200;
const PHASE_OF_PROGRESS = {
  setup: 'setup',
  agent: 'working',
  script: 'verifying',
  capture: 'capturing',
} as const;

/** Adds up the events of one run, in their order. */
export class LiveCount {
  #phase: RunPhase = 'preparing';
  #since: string;
  #attempt = 0;
  readonly #calls = new Map<string, { name: string; what: string; since: string }>();
  #earlier = NOTHING;
  #now = { ...NOTHING };
  /** Turns by heartbeats: those of an agent that reports its own at the end only. */
  #beatTurns = 0;
  #startedCalls = 0;
  /** Whether answers of the model were counted: they are the truth. */
  #hasCounted = false;
  #use: Use | undefined;
  #health: HealthState = 'healthy';
  #stall: LiveRun['stall'];
  #branch: string | undefined;
  #note: string | undefined;

  constructor(at: string) {
    this.#since = at;
  }

  add(event: CountedEvent): void {
    this.#attempt = Math.max(this.#attempt, event.attempt);
    if (showsProgress(event)) this.#stall = undefined;
    this.#count(event);
    const phase = phaseAfter(event);
    if (phase === null || phase === this.#phase) return;
    this.#phase = phase;
    this.#since = event.at;
    this.#note = undefined;
  }

  read(source: LiveRun['source']): LiveRun {
    const { turns, toolCalls, tokens, costUsd } = addCounts(this.#earlier, this.#ofAttempt());
    const newest = [...this.#calls.values()].at(-1);
    return {
      phase: this.#phase,
      since: this.#since,
      attempt: this.#attempt,
      ...(newest === undefined ? {} : { tool: { ...newest, others: this.#calls.size - 1 } }),
      turns,
      toolCalls,
      tokens,
      ...(costUsd === undefined || costUsd === null ? {} : { costUsd }),
      ...(this.#use?.cpuPercent === undefined ? {} : { cpuPercent: this.#use.cpuPercent }),
      ...(this.#use?.memoryBytes === undefined ? {} : { memoryBytes: this.#use.memoryBytes }),
      health: this.#health,
      ...(this.#stall === undefined ? {} : { stall: this.#stall }),
      ...(this.#branch === undefined ? {} : { branch: this.#branch }),
      ...(this.#note === undefined ? {} : { note: this.#note }),
      source,
    };
  }

  #count(event: CountedEvent): void {
    switch (event.type) {
      case 'dispatch.accepted':
        this.#branch = event.data.task.branch;
        return;
      case 'tool.started':
        return this.#startCall(event.data, event.at);
      case 'tool.ended':
        this.#calls.delete(event.data.callId);
        return;
      case 'runtime.adapter.ran':
        this.#calls.clear();
        return;
      case 'model.called':
        return this.#countAnswer(event.data);
      case 'worker.progress':
        return this.#countProgress(event.data);
      case 'worker.heartbeat':
        this.#beatTurns += event.data.counters.turns;
        this.#use = useAfter(this.#use, event.data.counters, event.at);
        return;
      case 'attempt.launched':
        this.#use = { cpuMs: 0, at: event.at };
        return;
      case 'run.stalled':
        this.#stall = { reason: event.data.reason, detail: cut(event.data.detail), since: event.at };
        return;
      case 'health.changed':
        this.#health = event.data.current;
        return;
      case 'settle.waiting':
        this.#note = cut(event.data.reason);
        return;
      case 'attempt.ended':
        return this.#endAttempt(event.data);
      default:
    }
  }

  #startCall({ callId, tool, what }: DataOf<'tool.started'>, since: string): void {
    this.#startedCalls += 1;
    const [oldest] = this.#calls.keys();
    if (this.#calls.size >= MAX_OPEN_CALLS && oldest !== undefined) this.#calls.delete(oldest);
    this.#calls.set(callId, { name: tool, what: cut(what), since });
  }

  #countAnswer({ tokens, costUsd }: DataOf<'model.called'>): void {
    if (!this.#hasCounted) this.#now = { ...this.#now, tokens: 0, costUsd: 0 };
    this.#hasCounted = true;
    const used = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
    this.#now.tokens += used;
    const cost = costUsd ?? (used === 0 ? 0 : null);
    this.#now.costUsd = addCosts(this.#now.costUsd, cost);
  }

  /** The counts of an agent whose model we do not see. A phase without counts leaves the earlier ones valid. */
  #countProgress(data: DataOf<'worker.progress'>): void {
    const { turns, toolCalls, tokensIn, tokensOut, costUsd } = data;
    this.#now.turns = Math.max(this.#now.turns, turns ?? 0);
    this.#now.toolCalls = Math.max(this.#now.toolCalls, toolCalls ?? 0);
    if (this.#hasCounted) return;
    if (tokensIn !== undefined || tokensOut !== undefined)
      this.#now.tokens = (tokensIn ?? 0) + (tokensOut ?? 0);
    // A program that does not know the price reports 0.
    if (costUsd !== undefined) this.#now.costUsd = costUsd === 0 && this.#now.tokens > 0 ? null : costUsd;
  }

  #ofAttempt(): Counts {
    const turns = Math.max(this.#now.turns, this.#beatTurns);
    return { ...this.#now, turns, toolCalls: Math.max(this.#now.toolCalls, this.#startedCalls) };
  }

  /** What its ending reports counts; where that is nothing, what was seen of it. */
  #endAttempt({ usage, costUsd }: DataOf<'attempt.ended'>): void {
    const seen = this.#ofAttempt();
    this.#earlier = addCounts(this.#earlier, usage === undefined ? seen : countsOf(usage, costUsd));
    this.#now = { ...NOTHING };
    this.#beatTurns = 0;
    this.#startedCalls = 0;
    this.#hasCounted = false;
    this.#calls.clear();
    this.#stall = undefined;
    this.#use = undefined;
    this.#health = 'healthy';
  }
}

function phaseAfter(event: CountedEvent): RunPhase | null {
  switch (event.type) {
    case 'run.queued':
      return 'queued';
    case 'run.placed':
      return 'preparing';
    case 'attempt.launched':
      return 'starting';
    case 'dispatch.started':
      return 'working';
    case 'worker.progress':
      return PHASE_OF_PROGRESS[event.data.phase];
    case 'runtime.adapter.ran':
      return 'capturing';
    case 'capture.done':
      return event.data.what === 'outputs' ? 'settling' : null; // the last thing that a worker does
    case 'settle.waiting':
      return 'settling';
    case 'attempt.ended':
      return 'retrying';
    default:
      return isTerminal(event.type) ? 'settling' : null;
  }
}

function showsProgress(event: CountedEvent): boolean {
  switch (event.type) {
    case 'tool.started':
    case 'tool.ended':
    case 'agent.said':
    case 'worker.progress':
    case 'runtime.adapter.ran':
      return true;
    case 'model.called':
      return event.data.outcome === 'answered';
    case 'worker.heartbeat': {
      const { turns, toolCalls, tokensIn, tokensOut, bytes } = event.data.counters;
      return turns + toolCalls + tokensIn + tokensOut + bytes > 0;
    }
    default:
      return false;
  }
}

function countsOf(usage: Usage, costUsd: number | undefined): Counts {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, turns = 0, toolCalls = 0 } = usage;
  const tokens = inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
  return { turns, toolCalls, tokens, costUsd: costUsd ?? usage.costUsd ?? (tokens === 0 ? undefined : null) };
}

function addCounts(one: Counts, other: Counts): Counts {
  return {
    turns: one.turns + other.turns,
    toolCalls: one.toolCalls + other.toolCalls,
    tokens: one.tokens + other.tokens,
    costUsd: addCosts(one.costUsd, other.costUsd),
  };
}

/** The sum is unknown when a part of it is. */
function addCosts(one: Counts['costUsd'], other: Counts['costUsd']): Counts['costUsd'] {
  if (one === undefined || other === undefined) return one === undefined ? other : one;
  return one === null || other === null ? null : one + other;
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}
