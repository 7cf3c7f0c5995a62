/** A run while it runs: one line that changes on a terminal, plain lines where output is piped. */
import type { EnvelopeOf, EventEnvelope } from '@caisson/protocol';
import type { Output } from './output.ts';
import { joinLine, type Line, type Lines, type Painted, type Style } from './painted.ts';
import { cutToWidth, formatCost, formatDuration, widthOf } from './format-values.ts';
import { isOfHost } from './print-warnings.ts';

const REDRAW_MS = 200;

export interface LiveView {
  show(event: EventEnvelope): void;
  /** A remark between the changing line and what is above it. */
  note(text: Line | Lines): void;
  end(): void;
}

interface State {
  phase: string;
  tool: string | null;
  tokens: number;
  costUsd: number | null;
  health: string;
  waitsFor: string | null;
}

export function createLiveView(output: Output, runId: string): LiveView {
  if (output.format !== 'human') return { show: () => undefined, note: output.note, end: () => undefined };
  const state: State = {
    phase: 'queued',
    tool: null,
    tokens: 0,
    costUsd: null,
    health: 'healthy',
    waitsFor: null,
  };
  const startedMs = performance.now();
  const draw = (): void => {
    if (!output.isInteractive) return;
    output.status(statusLine(state, performance.now() - startedMs, output.style, output.columns()));
  };
  const timer = output.isInteractive ? setInterval(draw, REDRAW_MS) : undefined;

  return {
    show(event) {
      const remark = absorb(state, event, runId);
      if (remark !== null) output.note(output.style.dim(remark));
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
  };
}

/** Handles an event; returns a line to keep on the screen, or null. */
function absorb(state: State, event: EventEnvelope, runId: string): string | null {
  switch (event.type) {
    case 'dispatch.accepted':
      return `${runId} accepted: ${event.runtime}`;
    case 'run.queued':
      state.phase = 'queued';
      return `waiting for a slot (position ${event.position}, ${event.limit} at a time)`;
    case 'dispatch.started':
      state.phase = 'starting';
      return null;
    case 'worker.progress':
      return absorbProgress(state, event);
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
      return `attempt ${event.attempt} failed: ${firstLine(event.failure.detail)}; trying again`;
    case 'verify.ran':
      return `verify ${event.passed ? 'passed' : 'failed'} after ${formatDuration(event.durationMs)}`;
    case 'compaction.started':
      return 'the agent shortens its context';
    case 'script.ran':
      return `${event.lens}: exit ${event.exitCode} after ${formatDuration(event.durationMs)}`;
    case 'approval.requested':
      return `waits for your decision: ${event.what} (caisson approvals)`;
    default:
      return null;
  }
}

function absorbProgress(state: State, event: EnvelopeOf<'worker.progress'>): string | null {
  const { phase, tool = null, tokensIn, tokensOut, costUsd } = event;
  state.phase = phase;
  state.waitsFor = null;
  const previousTool = state.tool;
  state.tool = tool;
  // A phase after the agent's has no token counts; the earlier ones stay valid.
  if (tokensIn !== undefined || tokensOut !== undefined) state.tokens = (tokensIn ?? 0) + (tokensOut ?? 0);
  if (costUsd !== undefined) state.costUsd = costUsd;
  return state.tool !== null && state.tool !== previousTool ? `tool: ${state.tool}` : null;
}

/** All of it is in `caisson show`. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** Never wider than the terminal: a line that wraps cannot be erased as one. */
function statusLine(state: State, elapsedMs: number, style: Style, columns: number): Painted {
  const plain = (text: Line): Line => text;
  const parts: readonly (readonly [string, (text: Line) => Line] | null)[] = [
    [state.phase, style.bold],
    [formatDuration(elapsedMs), plain],
    state.waitsFor === null ? null : [`waits: ${state.waitsFor}`, style.yellow],
    state.health === 'healthy' ? null : [state.health, style.yellow],
    state.tool === null ? null : [`in ${state.tool}`, plain],
    state.tokens === 0 ? null : [`${state.tokens} tokens`, plain],
    // Few agents report it as they work; the ending has it from the price table. A program that does not know the price
    // reports 0.
    state.costUsd === null || state.costUsd === 0 ? null : [formatCost(state.costUsd), plain],
  ];
  const line: Line[] = [];
  let room = columns - 1;
  for (const part of parts) {
    if (part === null || room <= 0) continue;
    const [text, paint] = part;
    const gap = line.length === 0 ? '' : '  ';
    const shown = cutToWidth(text, room - gap.length);
    if (shown === '') break;
    line.push(gap, paint(shown));
    room -= gap.length + widthOf(shown);
  }
  return joinLine(line, '');
}
