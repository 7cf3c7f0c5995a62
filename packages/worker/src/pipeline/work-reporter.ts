/**
 * Turns the agent's signals into lines about its work: tool calls, words, waits.
 * WR1  Texts are redacted first and cut then: half a secret would not be recognised.
 * WR2  A line fits into one event of the record, whatever the agent says.
 */
import { MAX_WORK_EVENT_BYTES, type WorkerSaying } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';
import { describeInput } from '../coordination/index.ts';
import type { AgentSignal } from '../runtimes/index.ts';

/** The other fields of an event need the rest. */
const MAX_TEXT_BYTES = MAX_WORK_EVENT_BYTES - 1024;
const MAX_DETAIL_BYTES = 1024;
const MAX_NAME_BYTES = 200;
/** So much of a text is read: far more than is kept. */
const LOOK = 64 * 1024;
const MAX_OPEN = 1000;
const UNREPORTED = { ok: false, detail: 'its end was not reported' };

export interface WorkReporter {
  report(signal: AgentSignal): void;
  /** The agent has ended: what it was doing did not end. */
  end(): void;
}

export function createWorkReporter({ redactor, writer, job }: AttemptContext): WorkReporter {
  const open = new Map<string, { callId: string; tool: string; startedAt: number }>();
  let pieces = '';
  let piecesBytes = 0;
  const cleanHead = (text: string): string =>
    text.length <= LOOK
      ? redactor.redact(text)
      : redactor
          .createStream()
          .push(Buffer.from(text.slice(0, LOOK)))
          .toString(); // WR1: without the undecided rest
  const name = (text: string): string => fitHead(cleanHead(text), MAX_NAME_BYTES);
  const say = (text: string, bytes: number, more: { isWaiting?: true } = {}): void => {
    const said = cleanHead(text).trim();
    if (said === '') return;
    const shown = fitHead(said, MAX_TEXT_BYTES);
    const cutBytes = shown === said && text.length <= LOOK ? 0 : bytes - Buffer.byteLength(shown);
    writer.write({ kind: 'agent.said', text: shown, ...more, ...(cutBytes > 0 ? { cutBytes } : {}) });
  };
  const gather = (text: string): void => {
    piecesBytes += Buffer.byteLength(text);
    if (pieces.length <= LOOK) pieces += text;
  };
  const flush = (): void => {
    say(pieces, piecesBytes);
    pieces = '';
    piecesBytes = 0;
  };
  const start = ({ callId, tool, input }: Extract<AgentSignal, { kind: 'tool-start' }>): void => {
    if (open.has(callId)) end(callId, UNREPORTED);
    const [oldest] = open.size < MAX_OPEN ? [] : open.keys();
    if (oldest !== undefined) end(oldest, UNREPORTED);
    const call = { callId: name(callId), tool: name(tool), startedAt: performance.now() };
    open.set(callId, call);
    const words = describeInput(input).replaceAll(`${job.workspace.cwd}/`, '');
    const what = fitHead(cleanHead(words), MAX_TEXT_BYTES);
    writer.write({ kind: 'tool.started', callId: call.callId, tool: call.tool, what });
  };
  const end = (callId: string, how: Pick<ToolEnd, 'ok' | 'detail' | 'durationMs'>): void => {
    const call = open.get(callId);
    if (call === undefined) return;
    open.delete(callId);
    writer.write(describeEnd(call, how, (text) => redactor.redact(text)));
  };
  return {
    report(signal) {
      if (signal.kind === 'text') gather(signal.text);
      if (signal.kind === 'text' && signal.isPiece === true) return;
      flush();
      if (signal.kind === 'waiting') say(signal.text, Buffer.byteLength(signal.text), { isWaiting: true });
      if (signal.kind === 'tool-start') start(signal);
      if (signal.kind === 'tool-end') end(signal.callId, signal);
    },
    end() {
      flush();
      for (const callId of [...open.keys()]) end(callId, { ok: false, detail: 'the agent ended before it' });
    },
  };
}

type ToolEnd = Extract<AgentSignal, { kind: 'tool-end' }>;

function describeEnd(
  { callId, tool, startedAt }: { callId: string; tool: string; startedAt: number },
  { ok, detail, durationMs = performance.now() - startedAt }: Pick<ToolEnd, 'ok' | 'detail' | 'durationMs'>,
  clean: (text: string) => string,
): WorkerSaying {
  const words = fitTail(clean(detail ?? '').trim(), MAX_DETAIL_BYTES);
  return {
    kind: 'tool.ended',
    callId,
    tool,
    ok,
    durationMs: Math.round(durationMs),
    ...(words === '' ? {} : { detail: words }),
  };
}

/** WR2: as JSON, because a control character takes six bytes there. */
function fitHead(text: string, maxBytes: number): string {
  let shown = text.slice(0, maxBytes);
  while (jsonBytes(shown) > maxBytes) shown = shown.slice(0, Math.floor(shown.length * 0.9));
  return shown.toWellFormed();
}

function fitTail(text: string, maxBytes: number): string {
  let shown = text.slice(-maxBytes);
  while (jsonBytes(shown) > maxBytes) shown = shown.slice(Math.ceil(shown.length * 0.1));
  return shown.toWellFormed();
}

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));
