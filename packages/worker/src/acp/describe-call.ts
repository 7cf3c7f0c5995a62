// A tool call of ACP in the form that policy reads. ACP gives a kind, a title for people, places, and sometimes the raw
// input; each agent sends a different part of that.

import type { ToolCall, ToolCallUpdate } from '@agentclientprotocol/sdk';
import { objectOf, textOf } from '../runtimes/index.ts';

export interface DescribedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The policy name of a kind. `other` and unknown kinds keep the tool's own name, and so are asked about. */
const TOOL_OF_KIND: Readonly<Record<string, string>> = {
  read: 'read',
  search: 'grep',
  edit: 'edit',
  delete: 'delete',
  move: 'delete',
  execute: 'bash',
  fetch: 'web_fetch',
  think: 'think',
};

export function describeCall(call: ToolCall | ToolCallUpdate): DescribedCall {
  const input = objectOf(call.rawInput);
  const tool = TOOL_OF_KIND[call.kind ?? ''] ?? nameOf(call);
  if (tool === 'bash') return { tool, input: { ...input, command: commandOf(call, input) } };
  const paths = pathsOf(call);
  return { tool, input: paths.length === 0 ? input : { ...input, paths } };
}

/** Agents that send no raw input put the whole command into the title. */
const commandOf = (call: ToolCall | ToolCallUpdate, input: Readonly<Record<string, unknown>>): unknown =>
  input['command'] ?? input['cmd'] ?? call.title ?? '';

/** Gemini puts the server after the tool, Claude before it; both become the name that policy knows as ours. */
function nameOf(call: ToolCall | ToolCallUpdate): string {
  const claude = textOf(objectOf(objectOf(call._meta)['claudeCode'])['toolName']);
  const name = claude || (call.name ?? '') || (call.title ?? '');
  const own = /^(\w+) \(caisson MCP Server\)/.exec(name)?.[1];
  return own === undefined ? name : `mcp__caisson__${own}`;
}

function pathsOf(call: ToolCall | ToolCallUpdate): readonly string[] {
  const places = (call.locations ?? []).map(({ path }) => path);
  const diffs = (call.content ?? []).flatMap((part) => (part.type === 'diff' ? [part.path] : []));
  return [...new Set([...places, ...diffs])];
}
