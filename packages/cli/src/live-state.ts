/** What the changing line of a live view is made of: the phase, the calls under way, the use of the model so far. */
import type { EnvelopeOf, Limits } from '@caisson/protocol';
import { firstLine } from './format-remark.ts';
import { cutToWidth, formatCost, formatDuration, widthOf } from './format-values.ts';
import { describeCall } from './format-work.ts';
import { joinLine, type Line, type Painted, type Style } from './painted.ts';

export interface LiveState {
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
  /** Those of the grant, until it was said which of them are not enforced. */
  limits: Limits;
}

export function createState(): LiveState {
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
    limits: {},
  };
}

type Work = 'worker.progress' | 'tool.started' | 'tool.ended' | 'agent.said' | 'model.called';

export function absorbWork(state: LiveState, event: EnvelopeOf<Work | 'runtime.adapter.ran'>): void {
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

function countCall(state: LiveState, { tokens, costUsd }: EnvelopeOf<'model.called'>): void {
  if (!state.hasCounted) state.tokens = 0;
  state.hasCounted = true;
  const used = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
  state.tokens += used;
  const isKnown = state.costUsd !== null && (costUsd !== undefined || used === 0);
  state.costUsd = isKnown ? (state.costUsd ?? 0) + (costUsd ?? 0) : null;
}

/** The counts of an agent whose model we do not see. A phase after the agent's has none; the earlier ones stay valid. */
function absorbProgress(state: LiveState, event: EnvelopeOf<'worker.progress'>): void {
  const { phase, tokensIn, tokensOut, costUsd } = event;
  state.phase = phase;
  if (state.hasCounted) return;
  if (tokensIn !== undefined || tokensOut !== undefined) state.tokens = (tokensIn ?? 0) + (tokensOut ?? 0);
  if (costUsd !== undefined) state.costUsd = costUsd;
}

/** Never wider than the terminal: a line that wraps cannot be erased as one. */
export function statusLine(state: LiveState, elapsedMs: number, style: Style, columns: number): Painted {
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
