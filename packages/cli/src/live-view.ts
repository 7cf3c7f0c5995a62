/** A run while it runs: what the agent says and does, and on a terminal one line below it that changes. */
import type { EnvelopeOf, EventEnvelope } from '@caisson/protocol';
import { formatEvent } from './format-event.ts';
import { isCommand } from './format-reply.ts';
import { firstLine, formatRemark } from './format-remark.ts';
import { cutToWidth, formatCost, formatDuration, formatExit, widthOf } from './format-values.ts';
import { describeCall, formatCall, formatModelTrouble, formatSaid, type WorkFormat } from './format-work.ts';
import type { Output } from './output.ts';
import { joinLine, line, type Line, type Lines, type Painted, type Style } from './painted.ts';
import { isOfHost } from './print-warnings.ts';

const REDRAW_MS = 200;
const MAX_SAID_LINES = 4;
const INDENT = '  ';
/** `verbose`: everything that is recorded, and all of what the agent says. */
export type Detail = 'quiet' | 'normal' | 'verbose';

export interface LiveView {
  show(event: EventEnvelope): void;
  /** A remark between the changing line and what is above it. */
  note(text: Line | Lines): void;
  end(): void;
  /** What the agent said last, if all of it was shown. */
  lastSaid(): string | null;
}

interface State {
  phase: string;
  /** Tool calls under way, the newest last. */
  readonly calls: Map<string, { started: EnvelopeOf<'tool.started'>; sinceMs: number }>;
  tokens: number;
  costUsd: number | null;
  /** Whether the model's own answers were counted: they are the truth. */
  hasCounted: boolean;
  health: string;
  waitsFor: string | null;
  lastSaid: string | null;
  /** It is a plain command, whose output is shown instead. */
  isOfCommand: boolean;
}

export function createLiveView(output: Output, runId: string, detail: Detail = 'normal'): LiveView {
  if (output.format !== 'human' || detail === 'quiet')
    return { show: () => undefined, note: output.note, end: () => undefined, lastSaid: () => null };
  const state = createState();
  const startedMs = performance.now();
  const draw = (): void => {
    if (!output.isInteractive) return;
    output.status(statusLine(state, performance.now() - startedMs, output.style, output.columns()));
  };
  const timer = output.isInteractive ? setInterval(draw, REDRAW_MS) : undefined;
  const format = (): WorkFormat => ({
    style: output.style,
    columns: output.wrapColumns() - INDENT.length - 1,
    maxLines: detail === 'verbose' ? Infinity : MAX_SAID_LINES,
  });

  return {
    show(event) {
      const lines = formatWork(state, event, format(), output.isInteractive);
      const remark = absorb(state, event, runId);
      if (lines.length > 0) output.note(lines.map((text) => line`${INDENT}${text}`));
      else if (detail === 'verbose' && event.seq > 0) output.note(formatEvent(event, output.style));
      else if (remark !== null) output.note(formatRemark(remark, format()));
      draw();
    },
    note(text) {
      output.note(text);
      draw();
    },
    end() {
      clearInterval(timer);
      output.status(null);
    },
    lastSaid: () => state.lastSaid,
  };
}

function createState(): State {
  return {
    phase: 'preparing',
    calls: new Map(),
    tokens: 0,
    costUsd: 0,
    hasCounted: false,
    health: 'healthy',
    waitsFor: null,
    lastSaid: null,
    isOfCommand: false,
  };
}

/** The lines of an event about the agent's work. On a terminal the line below shows what is under way. */
function formatWork(state: State, event: EventEnvelope, format: WorkFormat, isInteractive: boolean): Lines {
  switch (event.type) {
    case 'agent.said': {
      const lines = formatSaid(event, format);
      const isWhole = event.cutBytes === undefined && lines.length < format.maxLines;
      if (event.isWaiting !== true) state.lastSaid = isWhole ? event.text : null;
      return lines;
    }
    case 'tool.started':
      return isInteractive || state.isOfCommand ? [] : formatCall({ started: event }, format);
    case 'tool.ended': {
      const call = state.calls.get(event.callId);
      return call === undefined || state.isOfCommand
        ? []
        : formatCall({ started: call.started, ended: event }, format);
    }
    case 'model.called':
      return formatModelTrouble(event, format);
    default:
      return [];
  }
}

/** Handles an event; returns a line to keep on the screen, or null. */
function absorb(state: State, event: EventEnvelope, runId: string): string | null {
  switch (event.type) {
    case 'dispatch.accepted':
      state.isOfCommand = isCommand(event);
      return `${runId} accepted: ${event.runtime}`;
    case 'run.queued':
      state.phase = 'queued';
      return `waiting for a slot (position ${event.position}, ${event.limit} at a time)`;
    case 'run.placed':
      state.phase = 'preparing';
      return null;
    case 'workspace.brought':
      return `brought along: ${event.folders.join(', ')}`;
    case 'dispatch.started':
      state.phase = 'starting';
      return null;
    case 'worker.progress':
    case 'tool.started':
    case 'tool.ended':
    case 'agent.said':
    case 'model.called':
    case 'runtime.adapter.ran':
      absorbWork(state, event);
      return null;
    case 'health.changed':
      state.health = event.current;
      return `worker is ${state.health}`;
    case 'run.stalled':
      state.waitsFor = event.reason;
      return `no progress: ${event.reason} (${firstLine(event.detail)})`;
    case 'policy.denied':
      return `denied: ${event.denial.what}`;
    case 'warning':
      // What a run waits for is reported by itself.
      return isOfHost(event.source) || event.source === 'settle'
        ? null
        : `warning: ${firstLine(event.message)}`;
    case 'events.lost':
      return `${event.count} events could not be recorded (caisson logs ${runId})`;
    case 'attempt.ended':
      state.phase = 'preparing';
      return `attempt ${event.attempt} failed: ${firstLine(event.failure.detail)}; trying again`;
    case 'verify.ran':
      return `verify ${event.passed ? 'passed' : 'failed'} after ${formatDuration(event.durationMs)}`;
    case 'compaction.started':
      return 'the agent shortens its context';
    case 'script.ran':
      if (event.lens !== 'gate') return null; // verify.ran says it
      return `${event.lens}: ${formatExit(event.exitCode)} after ${formatDuration(event.durationMs)}`;
    default:
      return null;
  }
}

type Work = 'worker.progress' | 'tool.started' | 'tool.ended' | 'agent.said' | 'model.called';

function absorbWork(state: State, event: EnvelopeOf<Work | 'runtime.adapter.ran'>): void {
  state.waitsFor = event.type === 'agent.said' && event.isWaiting === true ? firstLine(event.text) : null;
  switch (event.type) {
    case 'tool.started':
      state.calls.set(event.callId, { started: event, sinceMs: performance.now() });
      return;
    case 'tool.ended':
      state.calls.delete(event.callId);
      return;
    case 'model.called':
      return countCall(state, event);
    case 'worker.progress':
      return absorbProgress(state, event);
    case 'runtime.adapter.ran':
      state.calls.clear();
      return;
    case 'agent.said':
  }
}

function countCall(state: State, { tokens, costUsd }: EnvelopeOf<'model.called'>): void {
  if (!state.hasCounted) state.tokens = 0;
  state.hasCounted = true;
  const used = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
  state.tokens += used;
  const isKnown = state.costUsd !== null && (costUsd !== undefined || used === 0);
  state.costUsd = isKnown ? (state.costUsd ?? 0) + (costUsd ?? 0) : null;
}

/** The counts of an agent whose model we do not see. A phase after the agent's has none; the earlier ones stay valid. */
function absorbProgress(state: State, event: EnvelopeOf<'worker.progress'>): void {
  const { phase, tokensIn, tokensOut, costUsd } = event;
  state.phase = phase;
  if (state.hasCounted) return;
  if (tokensIn !== undefined || tokensOut !== undefined) state.tokens = (tokensIn ?? 0) + (tokensOut ?? 0);
  if (costUsd !== undefined) state.costUsd = costUsd;
}

/** Never wider than the terminal: a line that wraps cannot be erased as one. */
function statusLine(state: State, elapsedMs: number, style: Style, columns: number): Painted {
  const plain = (text: Line): Line => text;
  const call = state.isOfCommand ? undefined : [...state.calls.values()].at(-1);
  const phase = state.isOfCommand && state.phase === 'agent' ? 'running' : state.phase;
  const parts: readonly (readonly [string, (text: Line) => Line] | null)[] = [
    [phase, style.bold],
    [formatDuration(elapsedMs), plain],
    state.waitsFor === null ? null : [`waits: ${state.waitsFor}`, style.yellow],
    state.health === 'healthy' ? null : [state.health, style.yellow],
    state.tokens === 0 ? null : [`${state.tokens} tokens`, plain],
    // A program that does not know the price reports 0.
    state.costUsd === null || state.costUsd === 0 ? null : [formatCost(state.costUsd), plain],
    call === undefined ? null : [describeOpenCall(call, state.calls.size), plain],
  ];
  const shownParts: Line[] = [];
  let room = columns - 1;
  for (const part of parts) {
    if (part === null || room <= 0) continue;
    const [text, paint] = part;
    const gap = shownParts.length === 0 ? '' : '  ';
    const shown = cutToWidth(text, room - gap.length);
    if (shown === '') break;
    shownParts.push(gap, paint(shown));
    room -= gap.length + widthOf(shown);
  }
  return joinLine(shownParts, '');
}

function describeOpenCall(
  { started, sinceMs }: { started: EnvelopeOf<'tool.started'>; sinceMs: number },
  count: number,
): string {
  const others = count === 1 ? '' : ` (and ${count - 1} more)`;
  return `${formatDuration(performance.now() - sinceMs)}${others} in ${describeCall(started)}`;
}
