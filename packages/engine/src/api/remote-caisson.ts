/** The second implementation of `Caisson`: everything is asked of the host behind a connection. */
import { resolve } from 'node:path';
import { definedOnly, type Caller } from '@caisson/protocol';
import type { ReadOptions } from '../admission/index.ts';
import type { SafeEventBus } from '../bus/index.ts';
import type { Caisson, FollowOptions } from '../caisson-contract.ts';
import type { LiveConfig } from '../config/index.ts';
import type { Sessions } from '../session/index.ts';
import { call, callForAll, callForBytes, callForChunks, callForEvents } from './call.ts';
import type { Connection } from './contract.ts';
import { readCollection } from './gc-progress.ts';
import { OPERATIONS } from './operations.ts';
import { createRemoteHandle, dispatchRemote } from './remote-handle.ts';
import { createRemoteResidents } from './remote-residents.ts';

export interface RemoteParts {
  readonly connection: Connection;
  /** How this process sees the machine. */
  readonly caller: Caller;
  /** Configuration, boards and findings are files that any process of this user opens. */
  readonly live: LiveConfig;
  readonly sessions: Sessions;
  readonly bus: SafeEventBus;
}

export function createRemoteCaisson(parts: RemoteParts): Caisson {
  const { live, sessions, bus, connection } = parts;
  return {
    config: live.current,
    checkConfig: () => live.reload(),
    bus,
    sessions,
    ...starts(parts),
    ...reads(parts),
    ...keeps(parts),
    registry: registryOf(parts),
    residents: createRemoteResidents(connection),
    tokens: {
      create: (order) => call(connection, OPERATIONS.createToken, order),
      list: () => callForAll(connection, OPERATIONS.tokens, {}),
      revoke: async (token) => (await call(connection, OPERATIONS.revokeToken, { token })).isRevoked,
    },
    // What runs is the host's: this process has nothing to stop.
    shutdown: () => Promise.resolve(),
    close() {
      bus.clear();
      connection.close();
      return Promise.resolve();
    },
  };
}

type Starting =
  | 'dispatch'
  | 'dispatchDetached'
  | 'serveDetached'
  | 'continue'
  | 'continuation'
  | 'retry'
  | 'answer'
  | 'attach'
  | 'cancel'
  | 'send'
  | 'decide';

/** Starts and steers runs. */
function starts({ connection, caller }: RemoteParts): Pick<Caisson, Starting> {
  const ask = { connection, caller };
  const dispatch: Caisson['dispatch'] = (request, attachment) => dispatchRemote(ask, request, attachment);
  const continuation: Caisson['continuation'] = (run, text, changes) =>
    call(connection, OPERATIONS.continuation, { run, text, changes, caller });
  const attach: Caisson['attach'] = async (run, how) =>
    createRemoteHandle(connection, await find(connection, run), how);
  return {
    dispatch,
    dispatchDetached: async (request) => (await dispatch(request)).runId,
    serveDetached: () => Promise.reject(new Error('a background host drives its run itself')),
    continue: async (run, text, changes) => dispatch(await continuation(run, text, changes)),
    continuation,
    retry: async (run, changes) => dispatch(await continuation(run, null, changes)),
    async answer(question, answer, given) {
      const asked = { question, answer, caller, ...definedOnly({ given }) };
      const { runId } = await call(connection, OPERATIONS.answer, asked);
      return runId === null ? null : createRemoteHandle(connection, runId);
    },
    attach,
    cancel: async (run, how = {}) => (await call(connection, OPERATIONS.cancel, { run, ...how })).outcome,
    send: async (run, body) => (await call(connection, OPERATIONS.send, { run, body })).messageId,
    decide: (approval, decision) => call(connection, OPERATIONS.decide, { approval, decision }),
  };
}

async function find(connection: Connection, run: string): Promise<string> {
  return (await call(connection, OPERATIONS.find, { run })).runId;
}

type Reading =
  | 'runs'
  | 'find'
  | 'show'
  | 'events'
  | 'lastOffset'
  | 'follow'
  | 'log'
  | 'followLog'
  | 'patch'
  | 'questions'
  | 'approvals'
  | 'approval'
  | 'budget'
  | 'spend'
  | 'usage'
  | 'runtimes';

function reads({ connection, caller }: RemoteParts): Pick<Caisson, Reading> {
  return {
    runs: (filter = {}) =>
      callForAll(connection, OPERATIONS.runs, {
        ...filter,
        status: filter.status === undefined ? undefined : [filter.status].flat(),
      }),
    find: (run) => find(connection, run),
    show: (run) => call(connection, OPERATIONS.show, { run }),
    events: (run, { after, limit } = {}) => callForAll(connection, OPERATIONS.events, { run, after, limit }),
    lastOffset: async () => (await call(connection, OPERATIONS.lastOffset, {})).offset,
    follow: (first: string | FollowOptions = {}, how: ReadOptions = {}) => {
      if (typeof first !== 'string') {
        const { signal, ...query } = first;
        return callForEvents(connection, OPERATIONS.followAll, query, signal);
      }
      const { signal, ...query } = how;
      return callForEvents(connection, OPERATIONS.follow, { run: first, ...query }, signal);
    },
    log: (run, name) => callForBytes(connection, OPERATIONS.log, { run, name }),
    followLog: (run, name, { signal } = {}) =>
      callForChunks(connection, OPERATIONS.followLog, { run, name }, signal),
    patch: (run) => callForBytes(connection, OPERATIONS.patch, { run }),
    questions: ({ status, after, limit } = {}) =>
      callForAll(connection, OPERATIONS.questions, { status, after, limit }),
    approvals: ({ all, after, limit } = {}) =>
      callForAll(connection, OPERATIONS.approvals, { all, after, limit }),
    approval: (approval) => call(connection, OPERATIONS.approval, { approval }),
    budget: (session) => call(connection, OPERATIONS.budget, { session }),
    spend: ({ session, day, newestFirst, after, limit } = {}) =>
      callForAll(connection, OPERATIONS.spend, { session, day, newestFirst, after, limit }),
    usage: () => call(connection, OPERATIONS.usage, {}),
    runtimes: ({ signal } = {}) => call(connection, OPERATIONS.runtimes, { caller }, signal),
  };
}

type Keeping = 'saveOutputs' | 'apply' | 'export' | 'verify' | 'seal' | 'forget' | 'drain' | 'gc' | Branching;
type Branching = 'branches' | 'pushBranch' | 'dropBranch';

/** Paths are of this process: they travel whole. */
function keeps({ connection, caller, bus }: RemoteParts): Pick<Caisson, Keeping> {
  return {
    saveOutputs: (run, to) => call(connection, OPERATIONS.saveOutputs, { run, to: resolve(caller.cwd, to) }),
    apply: (run, choice = {}) => call(connection, OPERATIONS.apply, { run, ...choice }),
    export: (run, to) => call(connection, OPERATIONS.export, { run, to: resolve(caller.cwd, to) }),
    verify: (run, { trustedKeys, witness } = {}) =>
      call(connection, OPERATIONS.verify, {
        run,
        trustedKeys: trustedKeys?.map(({ pem }) => pem),
        witness: witness?.map((line) => `${JSON.stringify(line)}\n`).join(''),
      }),
    seal: (run) => call(connection, OPERATIONS.seal, { run }),
    forget: async (run) => (await call(connection, OPERATIONS.forget, { run })).runId,
    async drain(run) {
      await call(connection, OPERATIONS.drain, { run });
    },
    branches: () => callForAll(connection, OPERATIONS.branches, {}),
    pushBranch: (run) => call(connection, OPERATIONS.pushBranch, { run, caller }),
    dropBranch: async (run) => (await call(connection, OPERATIONS.dropBranch, { run })).runId,
    gc: ({ onProgress, ...how } = {}) =>
      readCollection(callForChunks(connection, OPERATIONS.gcWithProgress, how), bus, onProgress),
  };
}

function registryOf({ connection, caller: { cwd } }: RemoteParts): Caisson['registry'] {
  return {
    register: (kind, name, path, { allowsSecrets } = {}) =>
      call(connection, OPERATIONS.register, { kind, name, path: resolve(cwd, path), allowsSecrets }),
    registerFolder: (folder, { allowsSecrets } = {}) =>
      call(connection, OPERATIONS.registerFolder, { folder: resolve(cwd, folder), allowsSecrets }),
    list: (kind) => callForAll(connection, OPERATIONS.registryList, { kind }),
    get: (kind, reference) => call(connection, OPERATIONS.registryGet, { kind, reference }),
  };
}
