import type { DispatchResult } from '@caisson/protocol';
import type { ListedRun } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { useApp } from '../live/app-context.ts';
import { useAnswer, type Answer } from '../live/use-answer.ts';
import type { InboxSources } from './inbox-items.ts';
import { loadWaiting } from './load-waiting.ts';

const FAILED = 'error,timeout,budget_exceeded,interrupted';
const MAX_FAILURES = 50;
const MAX_WORK = 40;
/** Whether an ended run has a patch never changes. */
const patched = new Map<string, boolean>();

export function useInbox(): Answer<InboxSources> {
  const { client } = useApp();
  return useAnswer(
    'inbox',
    (signal) => loadInbox(client, signal),
    ({ type }) => /^(approval|question|dispatch)\.|^run\.(applied|forgotten)$/.test(type),
  );
}

async function loadInbox(client: Client, signal: AbortSignal): Promise<InboxSources> {
  const ended = { order: 'ended', newestFirst: true };
  const [waiting, failures, done] = await Promise.all([
    loadWaiting(client, signal),
    client.get<ListedRun[]>('/v1/runs', { ...ended, status: FAILED, limit: MAX_FAILURES }, signal),
    client.get<ListedRun[]>('/v1/runs', { ...ended, status: 'done', limit: MAX_WORK }, signal),
  ]);
  const open = done.filter(
    ({ appliedAt, forgottenAt }) => appliedAt === undefined && forgottenAt === undefined,
  );
  forgetOthers(open);
  const areWork = await Promise.all(open.map((run) => hasPatch(client, run.runId, signal)));
  return { ...waiting, failures, work: open.filter((_, index) => areWork[index]) };
}

/** Only of runs that are listed: a page may stay open for days. */
function forgetOthers(listed: readonly ListedRun[]): void {
  const ids = new Set(listed.map(({ runId }) => runId));
  for (const runId of patched.keys()) if (!ids.has(runId)) patched.delete(runId);
}

async function hasPatch(client: Client, runId: string, signal: AbortSignal): Promise<boolean> {
  const known = patched.get(runId);
  if (known !== undefined) return known;
  const shown = await client.get<DispatchResult>(`/v1/runs/${runId}`, {}, signal).catch(() => null);
  if (shown === null) return false;
  const isPatched = shown.result?.patchRef !== undefined || shown.leftWork === true;
  patched.set(runId, isPatched);
  return isPatched;
}
