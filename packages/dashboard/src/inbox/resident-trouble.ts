/** Senses and workflows that cannot work, and threads that failed: no run of theirs says so. */
import type { SenseView, ThreadRow, WorkflowView } from '@caisson/protocol';
import type { Client } from '../api/client.ts';

export interface Trouble {
  /** Hides it in this browser. The same sense with another problem, or a later thread, is another one. */
  readonly id: string;
  /** Of all that this one stands for. */
  readonly ids: readonly string[];
  readonly name: string;
  readonly state: string;
  readonly detail: string;
  readonly at?: string;
}

export interface ResidentAnswers {
  readonly senses: readonly SenseView[];
  readonly workflows: readonly WorkflowView[];
  /** The newest. */
  readonly threads: readonly ThreadRow[];
}

const MAX_THREADS = 200;
const STUCK: ReadonlySet<string> = new Set(['blocked', 'unloadable']);
const FAILED: ReadonlySet<string> = new Set(['failed', 'timeout', 'too-long', 'crashed']);

export async function loadResidents(client: Client, signal: AbortSignal): Promise<ResidentAnswers> {
  const [senses, workflows, threads] = await Promise.all([
    client.list<SenseView>('/v1/senses', {}, signal),
    client.list<WorkflowView>('/v1/workflows', {}, signal),
    client.get<ThreadRow[]>('/v1/threads', { newestFirst: true, limit: MAX_THREADS }, signal),
  ]);
  return { senses: senses.rows, workflows: workflows.rows, threads };
}

export function findTroubles(answers: ResidentAnswers, hidden: ReadonlySet<string>): Trouble[] {
  const residents = [...answers.senses.flatMap(ofSense), ...answers.workflows.flatMap(ofWorkflow)];
  return [...residents.filter(({ id }) => !hidden.has(id)), ...ofThreads(answers.threads, hidden)];
}

/** Its state is of its process: one whose computes fail may be ready for the next. */
function ofSense({ name, state, lastProblem, computes, failures, lastComputeAt }: SenseView): Trouble[] {
  if (lastProblem === undefined && !STUCK.has(state)) return [];
  const detail = lastProblem ?? `It is ${state}.`;
  const id = idOf('sense', name, detail);
  const count = failures === computes ? 'every compute failed' : `${failures} of ${computes} computes failed`;
  return [
    {
      ...{ id, ids: [id], detail, state: STUCK.has(state) ? state : 'failed' },
      name: `Sense ${name}${failures > 1 ? `: ${count}` : ''}`,
      ...(lastComputeAt === undefined ? {} : { at: lastComputeAt }),
    },
  ];
}

function ofWorkflow({ name, state, problem }: WorkflowView): Trouble[] {
  if (!STUCK.has(state)) return [];
  const detail = problem ?? `It is ${state}.`;
  const id = idOf('workflow', name, detail);
  return [{ id, ids: [id], name: `Workflow ${name}`, state, detail }];
}

/** One for each workflow, as of its newest. A thread that another one continues is over and done with. */
function ofThreads(threads: readonly ThreadRow[], hidden: ReadonlySet<string>): Trouble[] {
  const continued = new Set(threads.map(({ continues }) => continues));
  const failed = threads.filter(
    ({ status, threadId }) => FAILED.has(status) && !continued.has(threadId) && !hidden.has(threadId),
  );
  return [...Map.groupBy(failed, ({ workflow }) => workflow)].flatMap(([workflow, group]) =>
    group.slice(0, 1).map((newest) => ({
      ...{ id: newest.threadId, ids: group.map(({ threadId }) => threadId), state: newest.status },
      name: `Thread of ${workflow}${group.length === 1 ? '' : `: ${group.length} failed`}`,
      detail: newest.detail ?? '',
      at: newest.endedAt ?? newest.acceptedAt,
    })),
  );
}

function idOf(kind: string, name: string, detail: string): string {
  return `${kind}:${name}:${detail.slice(0, 200)}`;
}
