import { writeSync } from 'node:fs';
import type { AgentCause } from '@caisson/protocol';

/** What the native agent prints: one JSON object a line. The driver in `runtimes/native/stream.ts` reads exactly this. */
export type NativeLine =
  /** `model` is the requested one; absent if the agent reports what served it. */
  | { readonly type: 'session'; readonly id: string; readonly model?: string }
  /** A model that answered, by its own name. */
  | { readonly type: 'model'; readonly model: string }
  | { readonly type: 'turn' }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_start'; readonly id: string; readonly tool: string; readonly input: unknown }
  | { readonly type: 'tool_end'; readonly id: string; readonly ok: boolean; readonly detail?: string }
  | {
      readonly type: 'usage';
      readonly input: number;
      readonly output: number;
      readonly cacheRead: number;
      readonly cacheWrite: number;
    }
  | {
      readonly type: 'denied';
      readonly id: string;
      readonly tool: string;
      readonly input: unknown;
      readonly actionClass: string;
      readonly rule: string;
      readonly cause: string;
    }
  /** Waits until a line `{id, decision: "allow" | "deny"}` arrives on stdin. */
  | {
      readonly type: 'ask';
      readonly id: string;
      readonly tool: string;
      readonly input: unknown;
      readonly actionClass: string;
      readonly rule: string;
    }
  /** The usage of the conversation so far. */
  | { readonly type: 'cost'; readonly usd: number }
  | { readonly type: 'done'; readonly reply: string }
  /** Without a cause the text of the message decides. */
  | { readonly type: 'error'; readonly message: string; readonly cause?: AgentCause };

export type PrintLine = (line: NativeLine) => void;

const STDOUT = 1;

/** Prints synchronously: a line is written before the agent continues. */
export const printLine: PrintLine = (line) => {
  let rest = Buffer.from(`${JSON.stringify(line)}\n`);
  while (rest.length > 0) rest = rest.subarray(writeSome(rest));
};

function writeSome(bytes: Buffer): number {
  try {
    return writeSync(STDOUT, bytes);
  } catch (error) {
    // A full pipe reports it; the reader is a worker that reads without pause.
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return 0;
    throw error;
  }
}
