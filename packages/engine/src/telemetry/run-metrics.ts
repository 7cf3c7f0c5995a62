/** Counts what this process records of runs (TE4). Live numbers are asked for when they are read. */
import { isEnding, statusOfEnding, type DataOf, type TerminalType } from '@caisson/protocol';
import type { PublishedEvent } from '../ledger/index.ts';
import type { DurationPoint, Metric, MetricPoint } from './contract.ts';

/** In seconds: from a command that does nothing to the longest run. */
const DURATION_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

export interface LiveNumbers {
  /** Of the whole project, by status. */
  readonly runs: { readonly queued: number; readonly running: number };
  /** How late the event loop was since it is watched, in seconds. */
  readonly loopDelay: { readonly mean: number; readonly max: number };
}

export interface RunMetrics {
  receive(event: PublishedEvent): void;
  read(live: LiveNumbers): readonly Metric[];
}

/** `runtimeOf`: of any run, also one that another process accepted. */
export function createRunMetrics(runtimeOf: (runId: string) => string): RunMetrics {
  return new CountedRuns(runtimeOf);
}

class CountedRuns implements RunMetrics {
  readonly #ended = createCounter();
  readonly #refused = createCounter();
  readonly #tokens = createCounter();
  readonly #cost = createCounter();
  readonly #tools = createCounter();
  readonly #durations = createDurations();
  readonly #waits = createDurations();
  readonly #queuedAtMs = new Map<string, number>();
  readonly #runtimeOf: (runId: string) => string;

  constructor(runtimeOf: (runId: string) => string) {
    this.#runtimeOf = runtimeOf;
  }

  receive(event: PublishedEvent): void {
    const { runId } = event;
    if (event.type === 'task.refused') this.#refused.add({ check: event.data.check }, 1);
    if (runId === null) return;
    if (isEnding(event)) return this.#end(event, runId);
    switch (event.type) {
      case 'run.queued':
        return void this.#queuedAtMs.set(runId, Date.parse(event.at));
      case 'run.placed': // only its own host says this; the others are recorded
      case 'repository.fetched':
      case 'attempt.launched':
        return this.#leaveQueue(runId, Date.parse(event.at));
      case 'tool.ended':
        return this.#tools.add({ outcome: event.data.ok ? 'ok' : 'failed' }, 1);
      case 'model.called':
        return this.#call(event.data);
      default:
    }
  }

  read({ runs, loopDelay }: LiveNumbers): readonly Metric[] {
    return [
      counter('caisson.runs', '1', 'Runs that ended, by status', this.#ended.read()),
      counter('caisson.tasks.refused', '1', 'Tasks that admission refused', this.#refused.read()),
      histogram('caisson.run.duration', 'How long runs took', this.#durations.read()),
      histogram('caisson.queue.wait', 'How long runs waited for a slot', this.#waits.read()),
      counter('caisson.tokens', '1', 'Tokens of the models, by kind', this.#tokens.read()),
      counter('caisson.cost', 'USD', 'Known cost of the models', this.#cost.read()),
      counter('caisson.tool.calls', '1', 'Tool calls of agents that ended', this.#tools.read()),
      gauge('caisson.runs.live', '1', 'Runs of the project that have not ended', [
        { labels: { status: 'queued' }, value: runs.queued },
        { labels: { status: 'running' }, value: runs.running },
      ]),
      gauge('caisson.loop.delay', 's', 'How late the event loop was since it is watched', [
        { labels: { of: 'mean' }, value: loopDelay.mean },
        { labels: { of: 'max' }, value: loopDelay.max },
      ]),
    ];
  }

  #leaveQueue(runId: string, atMs: number): void {
    const sinceMs = this.#queuedAtMs.get(runId);
    if (sinceMs !== undefined) this.#waits.add({}, Math.max(0, atMs - sinceMs) / 1000);
    this.#queuedAtMs.delete(runId);
  }

  #call({ model, tokens, costUsd }: DataOf<'model.called'>): void {
    this.#tokens.add({ model, kind: 'input' }, tokens.input);
    this.#tokens.add({ model, kind: 'output' }, tokens.output);
    this.#tokens.add({ model, kind: 'cache_read' }, tokens.cacheRead);
    this.#tokens.add({ model, kind: 'cache_write' }, tokens.cacheWrite);
    if (costUsd !== undefined) this.#cost.add({ model }, costUsd);
  }

  #end(event: Extract<PublishedEvent, { type: TerminalType }>, runId: string): void {
    const failure = event.type === 'dispatch.failed' ? event.data.failure : undefined;
    const cause = event.type === 'dispatch.cancelled' ? event.data.cause : undefined;
    const status = statusOfEnding(event.type, failure, cause);
    const runtime = this.#runtimeOf(runId);
    this.#ended.add({ status, reason: failure?.reason ?? '', runtime }, 1);
    this.#durations.add({ status }, event.data.durationMs / 1000);
    this.#queuedAtMs.delete(runId);
  }
}

type Labels = Readonly<Record<string, string>>;

interface Counter {
  add(labels: Labels, value: number): void;
  read(): readonly MetricPoint[];
}

/** Names of models and checks come from outside: this many are counted separately, the rest together. */
const MAX_SERIES = 256;
const OTHER: Labels = { other: 'true' };

function createCounter(): Counter {
  const points = new Map<string, { labels: Labels; value: number }>();
  return {
    add(labels, value) {
      const known = points.size < MAX_SERIES || points.has(JSON.stringify(labels)) ? labels : OTHER;
      const key = JSON.stringify(known);
      points.set(key, { labels: known, value: (points.get(key)?.value ?? 0) + value });
    },
    read: () => [...points.values()],
  };
}

interface Durations {
  add(labels: Labels, seconds: number): void;
  read(): readonly DurationPoint[];
}

function createDurations(): Durations {
  const points = new Map<string, DurationPoint>();
  return {
    add(labels, seconds) {
      const key = JSON.stringify(labels);
      const { counts, sum, count } = points.get(key) ?? emptyDurations(labels);
      const place = DURATION_BOUNDS.findIndex((bound) => seconds <= bound);
      const index = place === -1 ? DURATION_BOUNDS.length : place;
      points.set(key, {
        labels,
        bounds: DURATION_BOUNDS,
        counts: counts.map((value, at) => (at === index ? value + 1 : value)),
        sum: sum + seconds,
        count: count + 1,
      });
    },
    read: () => [...points.values()],
  };
}

function emptyDurations(labels: Labels): DurationPoint {
  const counts = [...DURATION_BOUNDS, Infinity].map(() => 0);
  return { labels, bounds: DURATION_BOUNDS, counts, sum: 0, count: 0 };
}

function counter(name: string, unit: string, help: string, points: readonly MetricPoint[]): Metric {
  return { name, unit, help, kind: 'counter', points };
}

function gauge(name: string, unit: string, help: string, points: readonly MetricPoint[]): Metric {
  return { name, unit, help, kind: 'gauge', points };
}

function histogram(name: string, help: string, points: readonly DurationPoint[]): Metric {
  return { name, unit: 's', help, kind: 'histogram', points };
}
