/** A `Caisson` over an engine of this process: the process's own, or as a caller of a daemon sees it. */
import { toEnvelope } from '@caisson/protocol';
import { requireTrust, requireUnderstood } from './trusted-config.ts';
import { type LiveConfig } from '../config/index.ts';
import type { Ledger, StoredEvent } from '../ledger/index.ts';
import { type Engine } from '../engine.ts';
import { attachRun } from '../operations/attach-run.ts';
import { type Beside } from '../operations/beside-runs.ts';
import { dropBranch, listBranches, pushAgain } from '../operations/branches.ts';
import { cancelRun } from '../operations/cancel-run.ts';
import { collectGarbage } from '../operations/collect-garbage.ts';
import { measureUsage } from '../operations/measure-usage.ts';
import { describeContinuation } from '../operations/continue-run.ts';
import { decideApproval } from '../operations/decide-approval.ts';
import { discoverHere } from '../operations/discover-here.ts';
import { drainTimeout } from '../operations/drain-timeout.ts';
import { dispatchOnce } from '../operations/dispatch-once.ts';
import { followProject } from '../operations/follow-project.ts';
import { followRunLog } from '../operations/follow-run-log.ts';
import { followRun } from '../operations/follow-run.ts';
import { forgetRun } from '../operations/forget-run.ts';
import { createUnstoredRegistryApi } from '../operations/read-declared.ts';
import { readApproval } from '../operations/read-approval.ts';
import { readRunLog } from '../operations/read-run-log.ts';
import { readSpend } from '../operations/read-spend.ts';
import { createRegistryApi } from '../operations/registry-api.ts';
import { createResidentsApi } from '../operations/residents-api.ts';
import { createTokensApi } from '../operations/tokens-api.ts';
import { resolveRunId } from '../operations/resolve-run-id.ts';
import { listRuns } from '../operations/list-runs.ts';
import { openQuestions } from '../operations/open-questions.ts';
import { applyRun, readPatch } from '../operations/run-patch.ts';
import { sealEnded } from '../operations/seal-ended.ts';
import { saveOutputs } from '../operations/save-outputs.ts';
import { showRun } from '../operations/show-run.ts';
import { sendMessage } from '../operations/send-message.ts';
import { runBackground, startBackground, takeRequest } from '../operations/start-background.ts';
import { exportHere, verifyHere } from '../operations/verify-here.ts';
import { listApprovals } from '../questions/index.ts';
import type { ReadOptions } from '../admission/index.ts';
import type { Caisson, FollowOptions } from '../caisson-contract.ts';

type Find = (given: string) => string;

/** `beside` belongs to the process: views of callers share it. */
export function createLibrary(engine: Engine, cwd: string, live: LiveConfig, beside: Beside): Caisson {
  const find: Find = (given) => resolveRunId(engine.ledger, given);
  return {
    config: engine.config,
    checkConfig: () => live.reload(),
    runtimes: (how = {}) => discoverHere(engine, how.signal),
    bus: engine.bus,
    registry: engine.hasFolder ? createRegistryApi(engine, cwd) : createUnstoredRegistryApi(engine, cwd),
    residents: createResidentsApi(engine),
    tokens: createTokensApi(engine),
    ...startsAndStops(engine, find, beside),
    ...reads(engine, find),
    ...keeps(engine, find),
  };
}

type Starting = Pick<
  Caisson,
  | 'dispatch'
  | 'dispatchDetached'
  | 'serveDetached'
  | 'shutdown'
  | 'cancel'
  | 'continue'
  | 'continuation'
  | 'retry'
  | 'send'
  | 'answer'
  | 'attach'
  | 'close'
>;

/** Starts, steers and stops runs. */
function startsAndStops(engine: Engine, find: Find, beside: Beside): Starting {
  const openForWork = async (): Promise<void> => {
    await requireTrust(engine.config);
    await engine.openPost();
  };
  const dispatch: Caisson['dispatch'] = async (request, attachment) => {
    await openForWork();
    const handle = await dispatchOnce(engine, request, attachment);
    beside.dispatched();
    return handle;
  };
  const continuation: Caisson['continuation'] = async (run, text, changes) =>
    describeContinuation(engine, find(run), text, changes);
  return {
    dispatch,
    async dispatchDetached(request, entry) {
      await requireTrust(engine.config);
      return startBackground(engine, request, entry);
    },
    async serveDetached(runId) {
      const request = takeRequest(engine, runId);
      await openForWork();
      beside.dispatched();
      return runBackground(engine, runId, request);
    },
    shutdown: (how) => engine.dispatcher.shutdown(how),
    cancel: async (run, how) => cancelRun(engine, find(run), how),
    continue: async (run, text, changes) => dispatch(await continuation(run, text, changes)),
    continuation,
    retry: async (run, changes) => dispatch(await continuation(run, null, changes)),
    send: async (run, body) => sendMessage(engine, find(run), body),
    answer(question, answer, given) {
      const beginRun = async (): Promise<void> => {
        await openForWork();
        beside.dispatched();
      };
      return openQuestions(engine, { given, beginRun }).answer(question, answer);
    },
    attach: async (run, how) => attachRun(engine, find(run), how),
    async close() {
      await beside.stop();
      await engine.close();
    },
  };
}

/** Reads what is known of runs, and decides about what they ask. */
function reads(
  engine: Engine,
  find: Find,
): Pick<
  Caisson,
  | 'runs'
  | 'find'
  | 'show'
  | 'events'
  | 'lastOffset'
  | 'follow'
  | 'log'
  | 'followLog'
  | 'patch'
  | 'saveOutputs'
  | 'questions'
  | 'approvals'
  | 'approval'
  | 'decide'
  | 'sessions'
  | 'budget'
  | 'spend'
> {
  const { ledger } = engine;
  return {
    runs: (filter) => listRuns(engine, filter),
    find: async (run) => find(run),
    show: async (run) => showRun(engine, find(run)),
    events: async (run, how) => (await readEvents(ledger, find(run), how)).map(toEnvelope),
    lastOffset: () => Promise.resolve(ledger.lastOffset()),
    follow: (first?: string | FollowOptions, how?: ReadOptions) =>
      whenRead(() =>
        typeof first === 'string' ? followRun(engine, find(first), how) : followProject(engine, find, first),
      ),
    log: async (run, name) => readRunLog(engine, find(run), name),
    followLog: (run, name, how) => whenRead(() => followRunLog(engine, find(run), name, how)),
    patch: async (run) => readPatch(engine, find(run)),
    saveOutputs: async (run, to) => saveOutputs(engine, find(run), to),
    questions: (filter) => openQuestions(engine).list(filter),
    approvals: ({ all, ...page } = {}) =>
      Promise.resolve(listApprovals(ledger, { openOnly: all !== true, ...page })),
    approval: (approval) => readApproval(engine, approval),
    decide: (approval, decision) => decideApproval(engine, approval, decision),
    sessions: engine.sessions,
    budget: (session) => Promise.resolve(engine.budget.standings(session)),
    spend: async (filter) => readSpend(engine, filter),
  };
}

type Branching = 'branches' | 'pushBranch' | 'dropBranch';

/** Keeps, proves and removes the work of runs. */
function keeps(
  engine: Engine,
  find: Find,
): Pick<Caisson, 'apply' | 'export' | 'verify' | 'seal' | 'forget' | 'drain' | 'gc' | 'usage' | Branching> {
  return {
    async apply(run, how) {
      requireUnderstood(engine.config);
      return applyRun(engine, find(run), how);
    },
    export: (run, to) => exportHere(engine, find(run), to),
    verify: (run, how = {}) => verifyHere(engine, run, how),
    async seal(run) {
      await requireTrust(engine.config, ['keys', 'evidence']);
      return sealEnded(engine, run === undefined ? undefined : find(run));
    },
    async forget(run) {
      await requireTrust(engine.config, ['store']);
      const runId = find(run);
      await forgetRun(engine, runId);
      return runId;
    },
    drain: async (run) => drainTimeout(engine, find(run)),
    branches: () => listBranches(engine),
    async pushBranch(run) {
      requireUnderstood(engine.config);
      return pushAgain(engine, find(run));
    },
    async dropBranch(run) {
      requireUnderstood(engine.config);
      const runId = find(run);
      await dropBranch(engine, runId);
      return runId;
    },
    usage: () => measureUsage(engine),
    async gc(how) {
      await requireTrust(engine.config, ['store']);
      return collectGarbage(engine, how);
    },
  };
}

/** What is wrong with a stream is thrown to its reader, as from another process. */
async function* whenRead<T>(open: () => AsyncIterable<T>): AsyncGenerator<T> {
  yield* open();
}

/** In turns of the event loop, also where only a page is asked for. */
async function readEvents(
  ledger: Pick<Ledger, 'readRun' | 'pageRun'>,
  runId: string,
  { after, limit }: { readonly after?: number; readonly limit?: number } = {},
): Promise<readonly StoredEvent[]> {
  if (limit === undefined) return ledger.readRun(runId, after);
  for await (const page of ledger.pageRun(runId, after ?? 0, limit)) return page;
  return [];
}
