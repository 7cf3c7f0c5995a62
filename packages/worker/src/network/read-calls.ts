/** Which tools an answer of a model calls, in whichever of the four wire formats it came. */
import { list, members, type Members } from './members.ts';

export interface ToolCall {
  /** The same for every piece that reports one call; null if each piece is its own call. */
  readonly key: string | null;
  readonly tool: string;
}

/** Calls that the client carries out, in the format of OpenAI's Responses. */
const RESPONSES_CALLS: ReadonlySet<unknown> = new Set([
  ...['function_call', 'custom_tool_call', 'local_shell_call', 'shell_call', 'apply_patch_call'],
]);

/** Reads a whole answer or one event of a stream. */
export function readCalls(value: unknown): ToolCall[] {
  const top = members(value);
  const body = members(top['response']); // Responses and Code Assist wrap the answer in it
  return [
    ...anthropicCalls(top),
    ...responsesCalls(top, body),
    ...list(top['choices']).flatMap(chatCalls),
    ...[...list(top['candidates']), ...list(body['candidates'])].flatMap(geminiCalls),
  ];
}

function anthropicCalls(top: Members): ToolCall[] {
  return [members(top['content_block']), ...list(top['content'])]
    .filter((block) => block['type'] === 'tool_use')
    .map((block) => ({ key: text(block['id']), tool: text(block['name']) }));
}

function responsesCalls(top: Members, body: Members): ToolCall[] {
  return [members(top['item']), ...list(top['output']), ...list(body['output'])]
    .filter((item) => RESPONSES_CALLS.has(item['type']))
    .map((item) => ({ key: text(item['call_id']), tool: text(item['name'] ?? item['type']) }));
}

/** Only the first piece of a call names its tool; the others bring the rest of its arguments. */
function chatCalls(choice: Members): ToolCall[] {
  return [members(choice['delta']), members(choice['message'])]
    .flatMap((said) => list(said['tool_calls']))
    .map((call, at) => ({ call, key: JSON.stringify([choice['index'] ?? 0, call['index'] ?? at]) }))
    .map(({ call, key }) => ({ key, tool: text(members(call['function'])['name']) }))
    .filter(({ tool }) => tool !== '');
}

function geminiCalls(candidate: Members): ToolCall[] {
  return list(members(candidate['content'])['parts'])
    .map((part) => members(part['functionCall']))
    .filter((call) => 'name' in call)
    .map((call) => ({ key: null, tool: text(call['name']) }));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 200) : '';
}
