/** What the changing line of a live view is made of: the phase, the calls under way, the use of the model so far. */
import type { EnvelopeOf, Limits, LiveRun } from '@caisson/protocol';
import { firstLine } from './format-remark.ts';
import { isCommand } from './format-reply.ts';
import { cutToWidth, formatCost, formatDuration, widthOf } from './format-values.ts';
import { describeCall } from './format-work.ts';
import { joinLine, type Line, type Painted, type Style } from './painted.ts';

export interface LiveState {
  /** What its host said of a run that was under way before it was looked at. */
  readonly joined: LiveRun | undefined;
  phase: string;
  /** When it was accepted, by the clock that never jumps. */
  startedMs: number;
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
  /** Its task has a branch: each step of its way there is shown. */
  isForBranch: boolean;
  /** The branch goes to a remote repository after the ending. */
  pushes: boolean;
  /** Those of the grant, until it was said which of them are not enforced. */
  limits: Limits;
}

export function createState(joined?: LiveRun): LiveState {
  return {
    joined,
    phase: 'preparing',
    startedMs: performance.now(),
    calls: new Map(),
    tokens: 0,
    costUsd: 0,
    hasCounted: false,
    health: 'healthy',
    waitsFor: null,
    lastSaid: null,
    isOfCommand: false,
    isForBranch: false,
    pushes: false,
    limits: {},
  };
}

type Work = 'worker.progress' | 'tool.started' | 'tool.ended' | 'agent.said' | 'model.called';

export function absorbWork(state: LiveState, event: EnvelopeOf<Work | 'runtime.adapter.ran'>): void {
  state.waitsFor = event.type === 'agent.said' && event.isWaiting === true ? firstLine(event.text) : null;
  switch (event.type) {
    case 'tool.started':
      state.calls.set(event.callId, { started: event, sinceMs: momentOf(event) });
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

/** When it happened: of a run that was joined later, before it was seen here. Not in the future, whatever the clocks say. */
function momentOf({ at }: { readonly at: string }): number {
  return performance.now() - Math.max(0, Date.now() - Date.parse(at));
}

export function absorbAcceptance(state: LiveState, event: EnvelopeOf<'dispatch.accepted'>): void {
  state.startedMs = momentOf(event);
  state.isOfCommand = isCommand(event);
  state.isForBranch = event.task.branch !== undefined;
  state.pushes = event.repository?.push === true;
  state.limits = event.grant.limits;
}

const PHASE_OF_RUN: Readonly<Record<LiveRun['phase'], string>> = {
  queued: 'queued',
  preparing: 'preparing',
  starting: 'starting',
  setup: 'setup',
  working: 'agent',
  verifying: 'script',
  capturing: 'capture',
  settling: 'capture',
  retrying: 'preparing',
};

/** Where an attempt is whose start was just read; what its host said when the run was joined is newer than that. */
export function phaseAtStart(
  { joined }: LiveState,
  { attempt }: Pick<EnvelopeOf<'dispatch.started'>, 'attempt'>,
): string {
  return joined?.attempt === attempt ? PHASE_OF_RUN[joined.phase] : 'starting';
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
export function statusLine(state: LiveState, style: Style, columns: number): Painted {
  const plain = (text: Line): Line => text;
  const call = state.isOfCommand ? undefined : [...state.calls.values()].at(-1);
  const phase = state.isOfCommand && state.phase === 'agent' ? 'running' : state.phase;
  const parts: readonly (readonly [string, (text: Line) => Line] | null)[] = [
    [phase, style.bold],
    [formatDuration(performance.now() - state.startedMs), plain],
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
