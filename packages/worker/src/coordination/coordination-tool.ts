import type { CoordinationTool as ToolName } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';
import type { HostRequests } from './host-requests.ts';
import type { ToolGate } from './tool-gate.ts';

/** One tool as the agent sees it. */
export interface CoordinationTool {
  readonly name: ToolName;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
  /** The result's text. An error it throws becomes the tool's error for the agent. */
  run(input: unknown): Promise<string>;
}

/** What the tools work with. */
export interface ToolBench {
  readonly context: AttemptContext;
  readonly requests: HostRequests;
  readonly gate: ToolGate;
}

/** The schema of an object of these properties. */
export function objectSchema(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = [],
): CoordinationTool['inputSchema'] {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The name of a run for the others of its session. */
export function sourceOf(context: AttemptContext): { runId: string; attempt: number; agent: string } {
  const { runId, attempt, runtime } = context.job;
  return { runId, attempt, agent: context.job.agent ?? runtime.name };
}

/** Text for a file that others read is stored without secrets. */
export function withoutSecrets(context: AttemptContext, value: unknown): unknown {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return value;
  const redacted = context.redactor.redact(text);
  return redacted === text ? value : (JSON.parse(redacted) as unknown);
}
