import * as z from 'zod/mini';
import { MODES } from '@caisson/protocol';
import { writeInMailbox } from '../attempt/index.ts';
import { objectSchema, type CoordinationTool, type ToolBench } from './coordination-tool.ts';

/** The host may be busy with the child for long; a line now and then shows that the parent waits and is not stuck. */
const WAITING_WORD_MS = 10_000;

const DispatchInput = z.object({
  task: z.string().check(z.minLength(1)),
  agent: z.optional(z.string()),
  runtime: z.optional(z.string()),
  model: z.optional(z.string()),
  mode: z.optional(z.string()),
  timeout_seconds: z.optional(z.number().check(z.positive())),
});

const Child = z.object({
  runId: z.string().check(z.regex(/^run_[0-9a-z]{20}$/)),
  status: z.string(),
  reply: z.string(),
  failure: z.optional(z.object({ reason: z.string(), detail: z.string() })),
  question: z.optional(z.string()),
  patchBytes: z.number(),
  patch: z.optional(z.string()),
});

/** Gives a task to another agent: its own run, whose grant the host limits by ours. */
export function dispatchTool({ context, requests, gate }: ToolBench): CoordinationTool {
  return {
    name: 'dispatch',
    description:
      'Give a task to another agent and wait for its result. It works on its own copy of the repository as it was before your changes, with at most your permissions. Its patch, if any, is placed in .caisson/ for you to apply.',
    inputSchema: objectSchema(
      {
        task: { type: 'string', description: 'What to do; the other agent knows nothing of your work.' },
        agent: { type: 'string', description: 'A registered agent.' },
        runtime: { type: 'string', description: 'Without it and without an agent: the same as yours.' },
        model: { type: 'string' },
        mode: { type: 'string', enum: [...MODES] },
        timeout_seconds: { type: 'number' },
      },
      ['task'],
    ),
    async run(input) {
      const { timeout_seconds: timeout, ...asked } = DispatchInput.parse(input);
      const verdict = await gate.judge({ tool: 'mcp__caisson__dispatch', input });
      if (!verdict.allow) throw new Error(verdict.reason);
      const word = setInterval(() => {
        context.writer.write({
          kind: 'progress',
          phase: 'agent',
          message: 'waits for the agent it dispatched',
        });
      }, WAITING_WORD_MS);
      try {
        const body = { ...asked, ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }) };
        const reply = await requests.ask('dispatch', body);
        if (!reply.ok) throw new Error(`Not dispatched: ${String(reply.value)}`);
        return describeChild(context.job.paths.mailbox, Child.parse(reply.value));
      } finally {
        clearInterval(word);
      }
    },
  };
}

function describeChild(mailbox: string, child: z.infer<typeof Child>): string {
  const name = `${child.runId}.patch`;
  if (child.patch !== undefined) writeInMailbox(mailbox, name, Buffer.from(child.patch, 'base64'));
  const { patch, ...reported } = child;
  return JSON.stringify({ ...reported, ...(patch === undefined ? {} : { patchFile: `.caisson/${name}` }) });
}
