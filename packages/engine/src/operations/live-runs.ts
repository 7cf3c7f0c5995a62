/**
 * How far runs under way are, whichever process drives them. Their hosts are asked, all at once and for a moment only: what
 * one that stands still cannot say is added up from the record.
 */
import { LiveCount, LiveRun, type WaitsFor } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { Engine } from '../engine.ts';
import { MAX_FOLLOWED_RUNS } from '../hosts/index.ts';
import type { RunRow } from '../ledger/index.ts';
import { listApprovals } from '../questions/index.ts';

/** How many events of a record are in memory at once. */
const PAGE = 256;
/** How long a list waits for a host. */
const ANSWER_LIMIT_MS = 250;

type Asking = Pick<Engine, 'ledger' | 'hosts' | 'hostId' | 'live'>;

const Answer = z.record(z.string(), LiveRun);

/** By run; those that have ended are left out. */
export async function findLive(engine: Asking, rows: readonly RunRow[]): Promise<Map<string, LiveRun>> {
  const open = rows.filter(({ ending }) => ending === undefined);
  const byHost = Map.groupBy(open, ({ host }) => host);
  const answers = await Promise.all(
    [...byHost].map(([host, runs]) =>
      askHost(
        engine,
        host,
        runs.map(({ runId }) => runId),
      ),
    ),
  );
  const told = new Map(answers.flatMap((answer) => Object.entries(answer)));
  const found = new Map<string, LiveRun>();
  for (const row of open) found.set(row.runId, told.get(row.runId) ?? (await countRecorded(engine, row)));
  return found;
}

async function askHost(
  { hosts, hostId, live }: Asking,
  host: string,
  runs: readonly string[],
): Promise<Record<string, LiveRun>> {
  if (host === hostId) return readStates(live, runs);
  const order = { kind: 'state' as const, runs: runs.slice(0, MAX_FOLLOWED_RUNS) };
  const reply = await hosts.order(host, order, { limitMs: ANSWER_LIMIT_MS }).catch(() => null);
  return reply?.ok === true ? (Answer.safeParse(reply.value).data ?? {}) : {};
}

/** What a host answers to the order `state`. */
export function readStates(live: Engine['live'], runs: readonly string[]): Record<string, LiveRun> {
  const known = runs.map((runId) => [runId, live.read(runId)] as const);
  return Object.fromEntries(known.filter((entry): entry is [string, LiveRun] => entry[1] !== null));
}

/** A page at a time, and one run after the other: a record may be long, and a list has many of them. */
async function countRecorded(
  { ledger, hosts }: Asking,
  { runId, acceptedAt, host, status }: RunRow,
): Promise<LiveRun> {
  const count = new LiveCount(acceptedAt);
  let isAdoptable = false;
  for await (const page of ledger.pageRun(runId, 0, PAGE))
    for (const event of page) {
      count.add(event);
      if (event.type === 'attempt.launched') isAdoptable = event.data.adoption !== undefined;
    }
  // Every command settles what dead hosts left, but for those that can be adopted.
  const mayBeAlone = status === 'running' && isAdoptable;
  const isAlone = mayBeAlone && !(await hosts.isAlive(host));
  return { ...count.read('ledger'), ...(isAlone ? { isAlone } : {}) };
}

/** The call of a running agent that waits for a decision, or the question that an ended run left. */
export function findWaiting({ ledger }: Pick<Engine, 'ledger'>, { runId, status }: RunRow): WaitsFor | null {
  if (status === 'running') {
    const approval = listApprovals(ledger, { runId, openOnly: true }).at(-1);
    if (approval === undefined) return null;
    const { approvalId: id, what: text, deadlineAt } = approval;
    return { kind: 'approval', id, text, deadlineAt };
  }
  const question = status === 'waiting' ? ledger.questions({ runId, status: 'open' }).at(-1) : undefined;
  if (question === undefined) return null;
  const { questionId: id, text, deadlineAt } = question;
  return { kind: 'question', id, text, ...(deadlineAt === undefined ? {} : { deadlineAt }) };
}
