/** What a run answered. A plain command's answer is the end of its output; the beginning is elsewhere. */
import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { formatBytes } from './format-values.ts';
import { textLines, type Line } from './painted.ts';

/** Whether the run is that of a plain command. */
export function isCommand(event: EventEnvelope): boolean {
  return event.type === 'dispatch.accepted' && event.runtime === 'command';
}

/** `maxLines` keeps the beginning of an agent's answer, and the end of a command's output. */
export function replyLines(result: DispatchResult, isOfCommand: boolean, maxLines = Infinity): Line[] {
  if (result.reply.trimEnd() === '') return [];
  const lines = textLines(result.reply.trimEnd());
  const { runId } = result;
  if (!isOfCommand)
    return lines.length <= maxLines
      ? lines
      : [
          ...lines.slice(0, maxLines),
          `… ${lines.length - maxLines} more lines; all: caisson show ${runId} -o json`,
        ];
  const isWhole = lines.length <= maxLines && lengthOf(result.stdout) <= lengthOf(result.reply);
  const { bytes, truncated } = result.result?.logs.stdout ?? {
    bytes: Buffer.byteLength(result.stdout),
    truncated: false,
  };
  const before = `… the end of ${truncated ? 'more than ' : ''}${formatBytes(bytes)}; all: caisson logs ${runId} --stdout`;
  return isWhole ? lines : [before, ...lines.slice(-Math.min(maxLines, lines.length))];
}

function lengthOf(text: string): number {
  return text.replaceAll('\r', '').trim().length;
}
