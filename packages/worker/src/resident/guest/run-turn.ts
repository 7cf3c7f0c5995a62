/** One turn of a thread of a workflow: the router names the role, the role makes the message. */
import {
  MAX_NAME_CHARACTERS,
  MAX_PAYLOAD_BYTES,
  type GuestFailure,
  type Role,
  type RoleContext,
  type RoleRun,
  type StepRequest,
  type Workflow,
} from '@caisson/protocol';
import { checkJson, InvalidUse } from './checked-json.ts';
import { describeThrown } from './describe-thrown.ts';
import type { Runner, Say } from './run-thread.ts';
import { createSteps, StepsChanged, type Steps } from './steps.ts';
import type { ThreadStart, TurnEnding, TurnOrder } from './thread-messages.ts';
import { createUserLog } from './user-log.ts';

export function createTurnRunner(workflow: object, { projectRoot }: ThreadStart, say: Say): Runner {
  const abort = new AbortController();
  const log = createUserLog(say);
  let steps: Steps | null = null;
  const run = async (order: TurnOrder): Promise<void> => {
    const own = (steps = createSteps(order.steps, say));
    const parts = {
      signal: abort.signal,
      projectRoot,
      log: (...words: unknown[]) => (own.isReplaying() ? undefined : log(...words)),
    };
    const begin = (name: string): void => say({ kind: 'role', name });
    say({ kind: 'turned', outcome: await takeTurn(workflow as Workflow, order, own, { ...parts, begin }) });
  };
  return (order) => {
    if (order.kind === 'turn') void run(order.turn);
    else if (order.kind === 'step-done') steps?.settle(order.ordinal, order.outcome);
    else if (order.kind === 'abort') {
      const why = new Error(order.why);
      abort.abort(why); // first, so that a role that catches its step's error finds its signal aborted
      steps?.abort(why);
    }
  };
}

type Parts = Pick<RoleContext, 'signal' | 'projectRoot' | 'log'>;

async function takeTurn(
  workflow: Workflow,
  order: TurnOrder,
  steps: Steps,
  { begin, ...parts }: Parts & { begin(role: string): void },
): Promise<TurnEnding> {
  let role: string | undefined;
  const fail = (failure: GuestFailure): TurnEnding =>
    role === undefined ? { kind: 'failed', failure } : { kind: 'failed', role, failure };
  try {
    const { payload, messages } = order;
    const next: unknown = workflow.route({ payload, messages });
    if (next === null) return { kind: 'end' };
    const work = findRole(workflow, next);
    role = next as string; // it is the name of a role
    begin(role); // nobody else knows it, if the role ends its thread
    const content: unknown = await Promise.race([
      work(createContext(order, steps, parts)),
      steps.changed, // a role that catches the error of a step has changed all the same
    ]);
    return { kind: 'message', role, content: checkJson(content, 'its result', MAX_PAYLOAD_BYTES).value };
  } catch (error) {
    return fail({ kind: kindOf(error), detail: describeThrown(error) });
  }
}

function kindOf(error: unknown): GuestFailure['kind'] {
  if (error instanceof StepsChanged) return 'changed';
  return error instanceof InvalidUse ? 'invalid' : 'threw';
}

function findRole({ roles }: Workflow, name: unknown): Role {
  const role = typeof name === 'string' && Object.hasOwn(roles, name) ? roles[name] : undefined;
  if (role === undefined)
    throw new InvalidUse(`the router named ${JSON.stringify(name) ?? 'nothing'}, which is none of its roles`);
  if (String(name).length > MAX_NAME_CHARACTERS)
    throw new InvalidUse(`the name of a role has at most ${MAX_NAME_CHARACTERS} characters`);
  return role;
}

function createContext(order: TurnOrder, steps: Steps, parts: Parts): RoleContext {
  const { threadId, round, trigger, payload, messages } = order;
  const ask = (request: StepRequest): Promise<unknown> => steps.ask(request);
  const dispatch = (run: RoleRun, waits: boolean): Promise<unknown> =>
    ask({ kind: 'dispatch', request: { ...run }, waits });
  return {
    ...{ threadId, round, trigger, payload, messages, ...parts },
    dispatch: (run) => dispatch(run, true) as ReturnType<RoleContext['dispatch']>,
    start: (run) => dispatch(run, false) as Promise<string>,
    wait: (runIds) => ask({ kind: 'wait', runIds: [...runIds] }) as ReturnType<RoleContext['wait']>,
    ask: (question, { options, deadlineMs } = {}) =>
      ask({
        kind: 'ask',
        question,
        ...(options === undefined ? {} : { options: [...options] }),
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
      }) as Promise<string>,
    sleep: async (ms) => void (await ask({ kind: 'sleep', ms })),
    step: <T>(name: string, work: () => T | Promise<T>) => steps.remember(name, work) as Promise<T>,
  };
}
