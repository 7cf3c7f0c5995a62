// Turns `session/update` into the native agent's lines. Agents differ in what they send first: some announce a call as
// pending without its input, some send nothing before it is over. A call is reported once it is known, and always
// ended.

import type { SessionUpdate, ToolCall, ToolCallUpdate } from '@agentclientprotocol/sdk';
import type { PrintLine } from '../native/index.ts';
import { objectOf } from '../runtimes/index.ts';
import { describeCall } from './describe-call.ts';

export interface UpdateReporter {
  report(update: SessionUpdate): void;
  /** A call that the agent asks permission for has begun, whatever else it reported. */
  reportCall(call: ToolCall | ToolCallUpdate): void;
  /** Ends what is open; returns the text after the last tool call. */
  finish(): string;
}

export function createUpdateReporter(say: PrintLine): UpdateReporter {
  const open = new Set<string>();
  const ended = new Set<string>();
  let text = '';
  let isTurnOpen = false;

  const openTurn = () => {
    if (!isTurnOpen) say({ type: 'turn' });
    isTurnOpen = true;
  };
  const flushText = (): string => {
    const said = text;
    text = '';
    if (said.trim() !== '') say({ type: 'text', text: said });
    return said;
  };
  const start = (call: ToolCall | ToolCallUpdate, id = call.toolCallId) => {
    if (open.has(id) || ended.has(id)) return;
    openTurn();
    flushText();
    open.add(id);
    say({ type: 'tool_start', id, ...describeCall(call) });
  };
  const end = (id: string, ending: CallEnding | null) => {
    if (ending === null || !open.delete(id)) return;
    ended.add(id);
    isTurnOpen = false; // what comes next is a new answer of the model
    say({ type: 'tool_end', id, ...ending });
  };
  const handleCall = (call: ToolCall | ToolCallUpdate, isAnnounced: boolean) => {
    if (isAnnounced) ended.delete(call.toolCallId); // an id that is used again is a new call
    if (!(isAnnounced && (call.status ?? 'pending') === 'pending')) start(call);
    end(call.toolCallId, endingOf(call));
  };

  return {
    report: (update) => {
      switch (update.sessionUpdate) {
        case 'agent_message_chunk':
        case 'agent_thought_chunk':
          openTurn();
          if (update.sessionUpdate === 'agent_message_chunk') text += textOf(update.content);
          return;
        case 'tool_call':
          return handleCall(update, true);
        case 'tool_call_update':
          return handleCall(update, false);
        case 'usage_update':
          if (update.cost?.currency === 'USD') say({ type: 'cost', usd: update.cost.amount });
          return;
        default: // plans, modes, commands and titles are for an editor's screen
      }
    },
    reportCall: start,
    finish: () => {
      for (const id of open) end(id, { ok: false, detail: 'the agent did not report how it ended' });
      return flushText();
    },
  };
}

interface CallEnding {
  readonly ok: boolean;
  readonly detail?: string;
}

/** Null for a call that is still under way. */
function endingOf(call: ToolCall | ToolCallUpdate): CallEnding | null {
  if (call.status !== 'completed' && call.status !== 'failed') return null;
  if (call.status === 'completed' && !hasFailed(call)) return { ok: true };
  const text = textIn(call);
  return text === undefined ? { ok: false } : { ok: false, detail: text };
}

/** opencode reports every command that ran as completed; its raw output has the result. Gemini does not report it. */
function hasFailed(call: ToolCall | ToolCallUpdate): boolean {
  const { exit } = objectOf(objectOf(call.rawOutput)['metadata']);
  return typeof exit === 'number' && exit !== 0;
}

function textOf(
  content: Extract<SessionUpdate, { sessionUpdate: 'agent_message_chunk' }>['content'],
): string {
  return content.type === 'text' ? content.text : '';
}

function textIn(call: ToolCall | ToolCallUpdate): string | undefined {
  const parts = (call.content ?? []).flatMap((part) =>
    part.type === 'content' && part.content.type === 'text' ? [part.content.text] : [],
  );
  return parts.length === 0 ? undefined : parts.join('\n');
}
