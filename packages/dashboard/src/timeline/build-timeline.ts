/** The life of a run as bars: what it did and what it waited for, out of its recorded events. */
import type { EventEnvelope, TerminalType } from '@caisson/protocol';
import { findStep } from './timeline-steps.ts';
import { addPhase, endPhases, type OpenPhases } from './phases.ts';

export type Lane = 'phases' | 'waits' | 'model' | 'tools' | 'scripts';
export type Tone = 'run' | 'wait' | 'ok' | 'bad' | 'quiet';

export interface Bar {
  readonly lane: Lane;
  readonly startMs: number;
  readonly endMs: number;
  readonly label: string;
  readonly detail: string;
  readonly tone: Tone;
  /** It has not ended. */
  readonly isOpen?: boolean;
}

export interface Timeline {
  readonly startMs: number;
  readonly endMs: number;
  readonly bars: readonly Bar[];
}

export type OpenBar = Omit<Bar, 'endMs' | 'isOpen'>;

/** `nowMs` is where a bar without an end stops, while the run is under way. */
export function buildTimeline(events: readonly EventEnvelope[], nowMs: number): Timeline {
  const [first] = events;
  if (first === undefined) return { startMs: nowMs, endMs: nowMs + 1, bars: [] };
  const builder = new TimelineBuilder();
  for (const event of events) builder.read(event);
  const startMs = Date.parse(first.at);
  const lastMs = Math.max(...events.slice(-50).map(({ at }) => Date.parse(at)));
  const endMs = Math.max(startMs + 1, builder.endedMs ?? Math.max(nowMs, lastMs));
  const bars = builder.finish(endMs).map((bar) => ({ ...bar, startMs: Math.max(startMs, bar.startMs) }));
  return { startMs, endMs: Math.max(endMs, ...bars.slice(-1).map((bar) => bar.endMs)), bars };
}

class TimelineBuilder {
  endedMs: number | null = null;
  readonly #bars: Bar[] = [];
  readonly #open = new Map<string, OpenBar>();
  readonly #phases: OpenPhases = { bars: [], current: null };

  read(event: EventEnvelope): void {
    const atMs = Date.parse(event.at);
    addPhase(this.#phases, event, atMs);
    if (ENDS.has(event.type)) this.endedMs = atMs;
    // A stall is over when the run does something again.
    if (/^(tool|model|agent|script|dispatch|attempt)\./.test(event.type)) this.#end('stall', atMs, 'bad');
    const step = findStep(event, atMs);
    if (step?.kind === 'start') this.#open.set(step.id, step.bar);
    if (step?.kind === 'end') this.#end(step.id, atMs, step.tone, step.detail);
    if (step?.kind === 'bar') this.#bars.push(step.bar);
  }

  finish(endMs: number): Bar[] {
    const isOpen = this.endedMs === null;
    const open = [...this.#open.values()].map((bar) => ({
      ...bar,
      endMs: Math.max(bar.startMs, endMs),
      isOpen,
    }));
    return [...endPhases(this.#phases, endMs, isOpen), ...this.#bars, ...open];
  }

  #end(id: string, endMs: number, tone: Tone, detail?: string): void {
    const bar = this.#open.get(id);
    if (bar === undefined) return;
    this.#open.delete(id);
    const words = detail === undefined ? bar.detail : `${bar.detail}\n${detail}`;
    this.#bars.push({ ...bar, endMs: Math.max(bar.startMs, endMs), tone, detail: words });
  }
}

/** A record, so that the compiler names an ending that is missing here. */
const ENDINGS: Readonly<Record<TerminalType, true>> = {
  ...{ 'dispatch.finished': true, 'dispatch.failed': true },
  ...{ 'dispatch.cancelled': true, 'dispatch.needs_input': true },
};
const ENDS: ReadonlySet<string> = new Set(Object.keys(ENDINGS));
