/** What a client sees of a run: the read model of `caisson show`, cut to what a model needs (M4). */
import { definedOnly, type DispatchResult } from '@caisson/protocol';
import type { Caisson } from '../../caisson-contract.ts';
import { cutEnd, cutStart } from './data-text.ts';

const MAX_TASK = 500;
const MAX_TEXT = 12_000;
const MAX_OUTPUT = 4000;
const MAX_NAMES = 50;
const MAX_LINE = 300;

type Row = Awaited<ReturnType<Caisson['runs']>>[number];

const UNDER_WAY: ReadonlySet<string> = new Set(['queued', 'running']);

export function hasEnded({ status }: Pick<Row, 'status'>): boolean {
  return !UNDER_WAY.has(status);
}

/** A run in a list. */
export function viewRow(row: Row): Record<string, unknown> {
  const { runId, status, acceptedAt, endedAt, durationMs, costUsd, costIsEstimate, failure } = row;
  return definedOnly({
    ...{ runId, status, acceptedAt, endedAt, durationMs, costUsd, costIsEstimate },
    runtime: row.runtime,
    agent: row.agent,
    session: row.session,
    queuePosition: row.position,
    checkPassed: row.checkPassed,
    appliedAt: row.appliedAt,
    continues: row.continues,
    failure: failure && { reason: failure.reason, detail: cutEnd(failure.detail, MAX_LINE) },
    live: row.live && viewLive(row.live),
    waitsFor: row.waitsFor && viewWaiting(row.waitsFor),
    task: cutEnd(row.description, MAX_TASK),
  });
}

/** A run by itself. */
export function viewRun(row: Row, shown: DispatchResult): Record<string, unknown> {
  const isEnded = hasEnded(row);
  return definedOnly({
    ...viewRow(row),
    isEnded,
    exitCode: isEnded ? shown.exitCode : undefined,
    failure: shown.failure && {
      ...shown.failure,
      detail: cutEnd(shown.failure.detail, MAX_OUTPUT),
    },
    continuedBy: shown.continuedBy,
    question: viewQuestion(shown),
    reply: orAbsent(cutEnd(shown.reply, MAX_TEXT)),
    ...(row.runtime === 'command' ? viewOutput(shown) : {}),
    verify: viewCheck(shown),
    branch: shown.branch,
    outsideScope: shown.outsideScope?.slice(0, MAX_NAMES),
    risky: shown.risky?.slice(0, MAX_NAMES),
    outputs: orNone(shown.result?.outputs.slice(0, MAX_NAMES).map(({ path, size }) => ({ path, size }))),
    denials: orNone(
      shown.result?.policy.denials
        .slice(0, MAX_NAMES)
        .map(({ what, rule }) => ({ what: cutEnd(what, MAX_LINE), rule })),
    ),
    next: nextOf(row, shown),
  });
}

/** One line of our own words about a run under way. */
export function describeProgress({ status, live, waitsFor, position }: Row): string {
  const parts = [
    live?.phase ?? status,
    ...(position === undefined ? [] : [`position ${position}`]),
    ...(live?.tool === undefined ? [] : [`tool ${cutEnd(live.tool.name, 60)}`]),
    ...(live === undefined ? [] : [`${live.turns} turns`, `${live.toolCalls} tool calls`]),
    ...(live?.stall === undefined ? [] : [`stalled: ${live.stall.reason}`]),
    ...(waitsFor === undefined ? [] : [`waits for a person: ${waitsFor.kind}`]),
  ];
  return parts.join(', ');
}

function viewLive(live: NonNullable<Row['live']>): Record<string, unknown> {
  const { phase, since, attempt, turns, toolCalls, tokens, costUsd, health } = live;
  return definedOnly({
    ...{ phase, since, attempt, turns, toolCalls, tokens, costUsd, health },
    tool: live.tool && { name: live.tool.name, what: cutEnd(live.tool.what, MAX_LINE) },
    stall: live.stall && { reason: live.stall.reason, detail: cutEnd(live.stall.detail, MAX_LINE) },
  });
}

function viewWaiting({ text, ...waits }: NonNullable<Row['waitsFor']>): Record<string, unknown> {
  return { ...waits, text: cutEnd(text, MAX_OUTPUT) };
}

function viewQuestion({ asked, result }: DispatchResult): Record<string, unknown> | undefined {
  const left = result?.needsInput;
  if (left === undefined) return undefined;
  return definedOnly({
    status: asked?.status,
    text: cutEnd(left.question, MAX_TEXT),
    options: left.options?.map((option) => cutEnd(option, MAX_LINE)),
  });
}

function viewOutput({ stdout, stderr }: DispatchResult): Record<string, unknown> {
  return {
    stdout: orAbsent(cutStart(stdout, MAX_OUTPUT)),
    stderr: orAbsent(cutStart(stderr, MAX_OUTPUT)),
  };
}

function viewCheck({ result }: DispatchResult): Record<string, unknown> | undefined {
  const verify = result?.verify;
  return (
    verify && {
      passed: verify.passed,
      lens: verify.lens,
      report: cutStart(verify.report, MAX_OUTPUT),
    }
  );
}

/** What the client can do now, or whom it has to ask. */
function nextOf(row: Row, { asked, result }: DispatchResult): string | undefined {
  if (row.waitsFor?.kind === 'approval')
    return `A person decides about this call: caisson approve ${row.waitsFor.id}, or caisson deny ${row.waitsFor.id}.`;
  if (asked?.status === 'open') return 'Its agent asks: call answer with this run.';
  if (!hasEnded(row)) return 'Call wait with this run.';
  return result?.patchRef === undefined ? undefined : 'Call diff to read its changes, then apply.';
}

function orAbsent(text: string): string | undefined {
  return text === '' ? undefined : text;
}

function orNone<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}
