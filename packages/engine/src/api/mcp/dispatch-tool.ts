import { definedOnly, Mode, SandboxKind, type DispatchRequest } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { McpBench, McpBounds, McpTool } from './contract.ts';
import { grantRequest } from './grant-request.ts';
import { described, parseInput, text } from './input.ts';
import { InputInvalidError } from '../problems.ts';

const MAX_SECONDS = 366 * 86_400;
const NEXT = 'The run goes on by itself. Call wait with this run until isEnded is true.';

/** What a client may choose. Secrets, the user's files and log-ins are not among it (M2). */
const DispatchInput = z.strictObject({
  task: described(z.optional(text(65_536)), 'What the agent should do, in words.'),
  command: described(
    z.optional(z.array(text(65_536)).check(z.minLength(1), z.maxLength(1000))),
    'Instead of a task for an agent: a program and its arguments, run in the sandbox.',
  ),
  agent: described(z.optional(text(128)), 'A registered agent.'),
  runtime: described(z.optional(text(128)), 'An agent program, for example claude-code or codex.'),
  model: described(z.optional(text(256)), 'The model to ask for.'),
  mode: described(
    z.optional(Mode),
    'Autonomy: suggest reads only, auto-edit writes, full-auto also deletes.',
  ),
  budgetUsd: described(z.optional(z.number().check(z.nonnegative())), 'Money the run may spend.'),
  timeoutSeconds: described(
    z.optional(z.number().check(z.positive(), z.lte(MAX_SECONDS))),
    'Deadline of one attempt.',
  ),
  verify: described(z.optional(text(65_536)), 'A command that checks the work, in a fresh checkout.'),
  scope: described(
    z.optional(z.array(text(4096)).check(z.maxLength(256))),
    'Patterns of the files that the task is about.',
  ),
  acceptance: described(z.optional(text(65_536)), 'When the task is done, in words.'),
  base: described(z.optional(text(1024)), 'Start from this commit instead of the present files.'),
  sandbox: described(z.optional(SandboxKind), 'bwrap, the default; none is always refused.'),
  hosts: described(
    z.optional(z.array(text(256).check(z.regex(/^[A-Za-z0-9.\-_[\]:*]+:\d{1,5}$/))).check(z.maxLength(64))),
    'Only these hosts (host:port) of those that the project grants; an empty list for no network.',
  ),
  session: described(z.optional(text(128)), 'Share board, context and budget with other runs of this name.'),
  idempotencyKey: described(z.optional(text(256)), 'The same key never starts a second run.'),
});
type DispatchInput = z.infer<typeof DispatchInput>;

export function dispatchTool({ project, owner, bounds, spent }: McpBench): McpTool {
  const dispatch = async (input: DispatchInput, client: string): Promise<Record<string, unknown>> => {
    const granted = await project.read(async (caisson) =>
      grantRequest(caisson, bounds, askedOf(input), await spent.leftUsd(caisson)),
    );
    const idempotencyKey = input.idempotencyKey && keyOf(owner, bounds, input.idempotencyKey);
    const request = { ...toRequest(input), ...granted, ...definedOnly({ idempotencyKey }) };
    const { runId, isEarlier } = await project.start(client, request);
    // It has what it was granted then, and counts where it was started.
    if (isEarlier) return { runId, isEarlier, next: NEXT };
    spent.started(runId, { capUsd: input.command === undefined ? (granted.budget?.usd ?? null) : 0 });
    return {
      runId,
      granted: definedOnly({
        ...{ mode: granted.mode, budgetUsd: granted.budget?.usd, session: granted.session },
      }),
      next: NEXT,
    };
  };
  return {
    name: 'dispatch',
    description:
      'Give a task to a coding agent, or a command, in a sealed sandbox on a copy of this project. Returns the id of the run at once; the work comes back as a patch that diff shows and apply takes in.',
    input: DispatchInput,
    isReadOnly: false,
    run(input, { client }) {
      const asked = readInput(input);
      return spent.inTurn(() => dispatch(asked, client));
    },
  };
}

function readInput(input: unknown): DispatchInput {
  const asked = parseInput(DispatchInput, input);
  if ((asked.task === undefined) === (asked.command === undefined))
    throw new InputInvalidError('a run needs either a task or a command', {
      remedy: 'Give one of them: task for an agent, command for a program and its arguments.',
    });
  if (asked.command !== undefined && (asked.agent ?? asked.runtime ?? asked.model) !== undefined)
    throw new InputInvalidError('a command has no agent, runtime or model', { remedy: 'Leave them out.' });
  return asked;
}

function askedOf({ timeoutSeconds, agent, mode, budgetUsd, session, sandbox, hosts }: DispatchInput) {
  const timeoutMs = timeoutSeconds && timeoutSeconds * 1000;
  return { agent, mode, budgetUsd, timeoutMs, session, sandbox, hosts };
}

function toRequest(input: DispatchInput): DispatchRequest {
  const { task, command, agent, runtime, model, verify, scope, acceptance, base } = input;
  return definedOnly({
    ...{ task, agent, model, verify, scope, acceptance, base },
    argv: command,
    runtime: command === undefined ? runtime : 'command',
  });
}

/** A key of a person, of another program or token, or of a server for another session never stands for one of a client. */
function keyOf(owner: string, { session }: McpBounds, key: string): string {
  return ['mcp', owner, ...(session === null ? [] : [encodeURIComponent(session)]), key].join(':');
}
