import type { AgentEvent } from '@earendil-works/pi-agent-core';
import type { NativeLine, PrintLine } from './native-lines.ts';

export interface Reporter {
  report(event: AgentEvent): void;
  /** Prints the one last line. */
  finish(): void;
}

type Failure = Pick<Extract<NativeLine, { type: 'error' }>, 'message' | 'cause'>;
type Message = Extract<AgentEvent, { type: 'message_end' }>['message'];
type AssistantMessage = Extract<Message, { role: 'assistant' }>;

/** Turns the loop's events into our lines, and remembers what the last line needs. */
export function createReporter(say: PrintLine): Reporter {
  let reply = '';
  let failure: Failure | null = null;
  const models = new Set<string>();
  const reportModel = (message: AssistantMessage) => {
    // Without an answer only the requested name is known.
    const model = message.responseModel ?? (message.stopReason === 'error' ? undefined : message.model);
    if (model === undefined || models.has(model)) return;
    models.add(model);
    say({ type: 'model', model });
  };
  const reportMessage = (message: AssistantMessage) => {
    const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
    if (text !== '') say({ type: 'text', text });
    failure = failureOf(message);
    reportModel(message);
    reply = message.stopReason === 'toolUse' ? '' : text;
    const { input, output, cacheRead, cacheWrite } = message.usage;
    if (input + output + cacheRead + cacheWrite > 0)
      say({ type: 'usage', input, output, cacheRead, cacheWrite });
  };
  return {
    report: (event) => {
      if (event.type === 'turn_start') say({ type: 'turn' });
      if (event.type === 'message_end' && event.message.role === 'assistant') reportMessage(event.message);
      if (event.type === 'tool_execution_start') {
        say({ type: 'tool_start', id: event.toolCallId, tool: event.toolName, input: event.args });
      }
      if (event.type === 'tool_execution_end') {
        const detail = event.isError ? { detail: resultText(event.result) } : {};
        say({ type: 'tool_end', id: event.toolCallId, ok: !event.isError, ...detail });
      }
    },
    finish: () => say(failure === null ? { type: 'done', reply } : { type: 'error', ...failure }),
  };
}

function failureOf({ stopReason, errorMessage }: AssistantMessage): Failure | null {
  if (stopReason === 'error' || stopReason === 'aborted') return { message: errorMessage ?? stopReason };
  if (stopReason !== 'length') return null;
  return { message: 'the last answer was cut at the maximum number of tokens', cause: 'max-tokens' };
}

function resultText(result: unknown): string {
  if (
    typeof result !== 'object' ||
    result === null ||
    !('content' in result) ||
    !Array.isArray(result.content)
  )
    return '';
  return result.content.map((part: unknown) => textOfPart(part)).join('\n');
}

const textOfPart = (part: unknown): string =>
  typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string'
    ? part.text
    : '';
