/** A run while it runs: what the agent says and does, and on a terminal one line below it that changes. */
import type { EventEnvelope, LiveRun } from '@caisson/protocol';
import { isInPlace } from './format-ending.ts';
import { formatEvent } from './format-event.ts';
import { describeUnenforced } from './format-limits.ts';
import { firstLine, formatRemark } from './format-remark.ts';
import { formatDuration, formatExit } from './format-values.ts';
import { formatCall, formatModelTrouble, formatSaid, type WorkFormat } from './format-work.ts';
import {
  absorbAcceptance,
  absorbWork,
  createState,
  phaseAtStart,
  statusLine,
  type LiveState,
} from './live-state.ts';
import type { Output } from './output.ts';
import { line, type Line, type Lines } from './painted.ts';
import { isOfHost } from './print-warnings.ts';
import { createRepeatedTrouble } from './repeated-trouble.ts';

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

/** `joined`: what its host said of a run that was under way before it was looked at. */
export function createLiveView(
  output: Output,
  runId: string,
  { detail = 'normal', joined }: { readonly detail?: Detail; readonly joined?: LiveRun | undefined } = {},
): LiveView {
  if (output.format !== 'human' || detail === 'quiet')
    return { show: () => undefined, note: output.note, end: () => undefined, lastSaid: () => null };
  const state = createState(joined);
  const draw = (): void => {
    if (!output.isInteractive) return;
    output.status(statusLine(state, output.style, output.columns()));
  };
  const timer = output.isInteractive ? setInterval(draw, REDRAW_MS) : undefined;
  const format = (): WorkFormat => ({
    style: output.style,
    columns: output.wrapColumns() - INDENT.length - 1,
    maxLines: detail === 'verbose' ? Infinity : MAX_SAID_LINES,
  });

  const trouble = createRepeatedTrouble();
  const noteRepeats = (count: string | null): void => {
    if (count !== null && detail !== 'verbose') output.note(line`${INDENT}${output.style.yellow(count)}`);
  };

  return {
    show(event) {
      const { isRepeat, before } = trouble.take(event);
      const lines = formatWork(state, event, format(), output.isInteractive);
      const remark = absorb(state, event, runId);
      noteRepeats(before);
      if (isRepeat && detail !== 'verbose') return draw();
      if (lines.length > 0) output.note(lines.map((text) => line`${INDENT}${text}`));
      else if (detail === 'verbose' && event.seq > 0)
        output.note(formatEvent(event, output.style, output.wrapColumns()));
      else if (remark !== null) output.note(formatRemark(remark, format()));
      draw();
    },
    note(text) {
      output.note(text);
      draw();
    },
    end() {
      noteRepeats(trouble.end());
      clearInterval(timer);
      output.status(null);
    },
    lastSaid: () => state.lastSaid,
  };
}

/** The lines of an event about the agent's work. On a terminal the line below shows what is under way. */
function formatWork(
  state: LiveState,
  event: EventEnvelope,
  format: WorkFormat,
  isInteractive: boolean,
): Lines {
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

const SHORT_COMMIT = 12;

/** Handles an event; returns a line to keep on the screen, or null. */
function absorb(state: LiveState, event: EventEnvelope, runId: string): string | null {
  switch (event.type) {
    case 'dispatch.accepted':
      absorbAcceptance(state, event);
      return `${runId} accepted: ${event.runtime}`;
    case 'run.queued':
      state.phase = 'queued';
      return `waiting for a slot (position ${event.position}, ${event.limit} at a time)`;
    case 'run.placed':
      state.phase = 'preparing';
      return null;
    case 'workspace.brought':
      return `brought along: ${event.folders.join(', ')}`;
    case 'repository.fetched':
      return `fetched: ${event.remote} ${event.ref} at ${event.commit.slice(0, SHORT_COMMIT)}`;
    case 'attempt.launched':
      if (isInPlace(event) && event.attempt === 1)
        return 'in place: it works in your own files, not in a copy';
      return state.isForBranch ? 'launched: the sandbox is there' : null;
    case 'dispatch.started':
      state.phase = phaseAtStart(state, event);
      return state.isForBranch ? 'started: the agent works' : null;
    case 'sandbox.started':
      return event.purpose === 'agent' ? takeUnenforced(state, event.enforced) : null;
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
      return describeWarning(event);
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
      return absorbDelivery(state, event);
  }
}

/** The way of the work out of the sandbox. */
function absorbDelivery(state: LiveState, event: EventEnvelope): string | null {
  switch (event.type) {
    case 'processes.ended':
      if (!state.isForBranch) return null;
      return event.left === 0
        ? 'ended: nothing of it runs any more'
        : `${event.left} processes could not be ended`;
    case 'work.saved':
      if (!state.isForBranch) return null;
      return event.commit === undefined ? 'saved' : `saved: commit ${event.commit.slice(0, SHORT_COMMIT)}`;
    case 'workspace.removed':
      return state.isForBranch ? 'cleaned up: its workspace is removed' : null;
    case 'handoff.recorded':
      return `handed off: ${event.handoff.status}, said by the ${event.handoff.by}`;
    case 'dispatch.finished':
    case 'dispatch.failed':
      if (state.pushes && event.branch?.status === 'created') state.phase = 'push';
      return null;
    case 'branch.pushed':
      return `pushed: ${event.branch} to ${event.remote}`;
    case 'branch.push-failed':
      return `push failed: ${event.branch}: ${event.reason}, ${firstLine(event.detail)}`;
    default:
      return null;
  }
}

/** What a run waits for is reported by itself. */
function describeWarning({ source, message }: { source: string; message: string }): string | null {
  return isOfHost(source) || source === 'settle' ? null : `warning: ${firstLine(message)}`;
}

/** Once, for all attempts. */
function takeUnenforced(state: LiveState, enforced: Readonly<Record<string, unknown>>): string | null {
  const { limits } = state;
  state.limits = {};
  return describeUnenforced(limits, enforced);
}
