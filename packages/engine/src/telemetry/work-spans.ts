/** What the agent did, by the conventions for generative AI: names, counts and outcomes, never what was said. */
import type { DataOf, ModelApi } from '@caisson/protocol';
import type { StoredEvent, StoredOf } from '../ledger/index.ts';
import type { RunSpan, SpanValue } from './contract.ts';
import { atMs, endOfAttemptMs, spanIdOf } from './event-values.ts';
import type { SpannedRun } from './spans-of-run.ts';

type ToolStarted = StoredOf<'tool.started'>;
type ToolEnded = StoredOf<'tool.ended'>;

export function listWork(events: readonly StoredEvent[], run: SpannedRun): RunSpan[] {
  const ends = pairTools(events);
  return events.flatMap((event): RunSpan[] => {
    switch (event.type) {
      case 'model.called':
        return [spanOfCall(event, run)];
      case 'tool.started':
        return [spanOfTool(events, event, ends.get(event.seq) ?? null, run)];
      case 'script.ran':
        return [spanOfScript(event, run)];
      default:
        return [];
    }
  });
}

/** The end of each call, by the number of its start. Agents choose the ids, and some use one again: the first is first. */
function pairTools(events: readonly StoredEvent[]): ReadonlyMap<number, ToolEnded> {
  const open = new Map<string, number[]>();
  const ends = new Map<number, ToolEnded>();
  for (const event of events) {
    if (event.type !== 'tool.started' && event.type !== 'tool.ended') continue;
    const key = `${event.attempt}/${event.data.callId}`;
    const started = open.get(key) ?? [];
    if (event.type === 'tool.started') open.set(key, [...started, event.seq]);
    else if (started[0] !== undefined) ends.set(started.shift() ?? 0, event);
  }
  return ends;
}

/** A child of the run's own span. */
export function createSpan(
  event: StoredEvent,
  { place: { traceId, spanId, flags } }: SpannedRun,
  span: Pick<RunSpan, 'name' | 'startMs' | 'endMs' | 'attributes'> & Partial<Pick<RunSpan, 'kind'>>,
  error?: string,
): RunSpan {
  return {
    ...{ kind: 'internal', traceId, spanId: spanIdOf(event), parentSpanId: spanId, flags, events: [] },
    ...span,
    ...(error === undefined ? {} : { error }),
  };
}

function spanOfCall(event: StoredOf<'model.called'>, run: SpannedRun): RunSpan {
  const { model, durationMs, outcome } = event.data;
  const isFailed = outcome === 'failed';
  const span = {
    name: `chat ${model}`,
    kind: 'client' as const,
    startMs: atMs(event) - durationMs,
    endMs: atMs(event),
    attributes: { ...describeCall(event.data), ...(isFailed ? { 'error.type': 'model-failed' } : {}) },
  };
  return createSpan(event, run, span, isFailed ? 'the request to the model failed' : undefined);
}

/** The conventions name the one whose format is spoken; a gateway behind it is not known. */
const PROVIDERS: Readonly<Partial<Record<ModelApi, string>>> = {
  'anthropic-messages': 'anthropic',
  'openai-responses': 'openai',
  'openai-chat': 'openai',
  gemini: 'gcp.gemini',
};

function describeCall({
  model,
  api = 'none',
  tokens,
  outcome,
  costUsd,
}: DataOf<'model.called'>): Record<string, SpanValue> {
  const provider = PROVIDERS[api];
  return {
    'gen_ai.operation.name': 'chat',
    ...(provider === undefined ? {} : { 'gen_ai.provider.name': provider }),
    'gen_ai.request.model': model,
    'gen_ai.usage.input_tokens': tokens.input,
    'gen_ai.usage.output_tokens': tokens.output,
    'gen_ai.usage.cache_read.input_tokens': tokens.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': tokens.cacheWrite,
    'caisson.outcome': outcome,
    ...(costUsd === undefined ? {} : { 'caisson.cost.usd': costUsd }),
  };
}

function spanOfTool(
  events: readonly StoredEvent[],
  started: ToolStarted,
  ended: ToolEnded | null,
  run: SpannedRun,
): RunSpan {
  const { tool, callId } = started.data;
  const isFailed = ended !== null && !ended.data.ok;
  const span = {
    name: `execute_tool ${tool}`,
    startMs: atMs(started),
    endMs: ended === null ? (endOfAttemptMs(events, started) ?? run.endMs) : atMs(ended),
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': callId,
      ...(ended === null ? { 'caisson.unfinished': true } : {}),
      ...(isFailed ? { 'error.type': 'tool-failed' } : {}),
    },
  };
  return createSpan(started, run, span, isFailed ? 'the tool reported a failure' : undefined);
}

function spanOfScript(event: StoredOf<'script.ran'>, run: SpannedRun): RunSpan {
  const { lens, exitCode, durationMs, timedOut } = event.data;
  const isFailed = exitCode !== 0 || timedOut === true;
  const span = {
    name: `script ${lens}`,
    startMs: atMs(event) - durationMs,
    endMs: atMs(event),
    attributes: {
      ...(exitCode === null ? {} : { 'process.exit.code': exitCode }),
      ...(isFailed ? { 'error.type': timedOut === true ? 'timeout' : 'exit' } : {}),
    },
  };
  return createSpan(event, run, span, isFailed ? 'the command failed' : undefined);
}
