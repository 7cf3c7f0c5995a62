/** Work inside and around the sandbox, and its deliveries. */
import * as z from 'zod/mini';
import type { EventTable } from './define-event.ts';
import { RecordedHandoff } from './handoff.ts';
import { RunId, Sha256 } from './ids.ts';
import { PushProblem } from './lifecycle-events.ts';
import { connectionFields, modelCallFields } from './observed-network.ts';
import { Denial } from './result.ts';
import { agentSaidFields, PrintedEnds, toolEndedFields, toolStartedFields } from './worker-lines.ts';

export const workEvents = {
  'prompt.compiled': {
    version: 1,
    durable: true,
    summary: 'The prompts of the run were composed.',
    data: z.object({
      role: z.string(),
      tier: z.string(),
      mode: z.string(),
      estimatedTokens: z.int(),
      fragmentCount: z.int(),
      hash: Sha256,
    }),
  },
  'script.ran': {
    version: 1,
    durable: true,
    summary: 'A setup, gate, verify or clean-room command ran.',
    data: z.object({
      lens: z.string(),
      exitCode: z.nullable(z.int()),
      durationMs: z.number(),
      command: z.optional(z.string()),
      timedOut: z.optional(z.boolean()),
      stdout: z.optional(z.string()),
      stderr: z.optional(z.string()),
      /** Its place in the pipeline. */
      ordinal: z.optional(z.int()),
      /** Where it ran, if that was not the workspace. */
      room: z.optional(z.string()),
    }),
  },
  'runtime.adapter.ran': {
    version: 1,
    durable: true,
    summary: 'The agent program ran and ended.',
    data: z.object({
      exitCode: z.nullable(z.int()),
      durationMs: z.number(),
      signal: z.optional(z.nullable(z.string())),
      stdout: z.optional(PrintedEnds),
      stderr: z.optional(PrintedEnds),
    }),
  },
  'tool.started': {
    version: 1,
    durable: true,
    summary: 'The agent called a tool: a command, a file, or another one.',
    data: z.object(toolStartedFields()),
  },
  'tool.ended': {
    version: 1,
    durable: true,
    summary: 'A tool call of the agent ended.',
    data: z.object(toolEndedFields()),
  },
  'agent.said': {
    version: 1,
    durable: true,
    summary: 'The agent said something, or reported that it waits. At most 4 kB; the rest is counted.',
    data: z.object(agentSaidFields()),
  },
  'model.called': {
    version: 1,
    durable: true,
    summary: 'A request to the model ended. `left`: the agent did not wait for the answer.',
    data: z.object({
      ...modelCallFields(),
      /** By the price table; absent if unknown. */
      costUsd: z.optional(z.number()),
    }),
  },
  'work.gap': {
    version: 1,
    durable: true,
    summary:
      'The attempt did more than is recorded (2,000 events of tools, words and model calls): how many are missing, by type.',
    data: z.object({ count: z.int(), types: z.record(z.string(), z.int()) }),
  },
  'capture.done': {
    version: 1,
    durable: true,
    summary: 'A patch or outputs were captured.',
    data: z.object({ what: z.string(), files: z.int(), bytes: z.int() }),
  },
  'processes.ended': {
    version: 1,
    durable: true,
    summary:
      'Of a task with a branch: the worker, its agent and all that they started are gone; `left` processes could not be ended.',
    data: z.object({ left: z.int() }),
  },
  'work.saved': {
    version: 1,
    durable: true,
    summary:
      'Of a task with a branch: what the agent left is in a checkpoint, committed by it or not; `commit` is that of the branch.',
    data: z.object({ ref: z.string(), commit: z.optional(z.string()) }),
  },
  'workspace.removed': {
    version: 1,
    durable: true,
    summary:
      'Of a task with a branch: the workspace of the attempt and its files are removed. The last of it, after the seal and the push.',
    data: z.object({}),
  },
  'handoff.recorded': {
    version: 1,
    durable: true,
    summary:
      "The host checked the run's hand-off: the agent's words, and the host's own numbers and verdict.",
    data: z.object({ handoff: RecordedHandoff }),
  },
  'policy.denied': {
    version: 1,
    durable: true,
    summary: 'A layer stopped something.',
    data: z.object({ denial: Denial }),
  },
  'network.connection': {
    version: 1,
    durable: true,
    summary: 'One connection through the proxy or the broker.',
    data: z.object(connectionFields()),
  },
  'repository.fetched': {
    version: 1,
    durable: true,
    summary: 'The base of the run is here: `commit` of the remote, under the name `ref` there.',
    data: z.object({ remote: z.string(), ref: z.string(), commit: z.string(), ms: z.number() }),
  },
  'branch.pushed': {
    version: 1,
    durable: true,
    summary: 'The branch of the run is on its remote.',
    data: z.object({ remote: z.string(), branch: z.string(), commit: z.string() }),
  },
  'branch.push-failed': {
    version: 1,
    durable: true,
    summary: 'The branch of the run could not be pushed; it is kept here (`caisson branches`).',
    data: z.object({ remote: z.string(), branch: z.string(), reason: PushProblem, detail: z.string() }),
  },
  'branch.dropped': {
    version: 1,
    durable: true,
    summary: 'A person deleted the branch of the run here; its checkpoint stays.',
    data: z.object({ branch: z.string(), commit: z.string() }),
  },
  'evidence.sealed': {
    version: 1,
    durable: true,
    summary: 'The manifest, the chain and the result are bound by a signature.',
    data: z.object({
      envelopeRef: Sha256,
      manifestRef: Sha256,
      keyId: z.string(),
      /** Its place among the seals of this ledger; absent in those of the first versions. */
      chain: z.optional(
        z.object({
          ledger: z.string(),
          number: z.int().check(z.positive()),
          /** The sha256 of the envelope before it, and its run; null for the first seal of a ledger. */
          previous: z.nullable(Sha256),
          previousRun: z.nullable(RunId),
        }),
      ),
    }),
  },
  'callback.delivered': {
    version: 1,
    durable: true,
    summary: 'An endpoint accepted a lifecycle event.',
    data: z.object({ url: z.string(), event: z.string(), status: z.int(), tries: z.int() }),
  },
  'callback.failed': {
    version: 1,
    durable: true,
    summary: 'An endpoint did not accept a lifecycle event, and no try is left.',
    data: z.object({ url: z.string(), event: z.string(), detail: z.string(), tries: z.int() }),
  },
} as const satisfies EventTable;
