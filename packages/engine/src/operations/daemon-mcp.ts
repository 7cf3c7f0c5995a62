/** The MCP server of a daemon: on its socket for this account, and on TCP for tokens, within their scopes (invariant 6). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listPatchFiles } from '@caisson/ground';
import { toErrorInfo, type Caller, type Scope } from '@caisson/protocol';
import {
  loadMcpSessions,
  MCP_SCOPES,
  sendProblem,
  type ApiHost,
  type McpBounds,
  type McpProject,
  type McpScope,
  type McpSessions,
} from '../api/index.ts';
import type { Caisson } from '../caisson-contract.ts';
import { readHostEnvironment } from '../config/index.ts';
import type { Engine } from '../engine.ts';
import { diffText } from '../workspace/index.ts';
import { recordAct, recordOrder, type Actor } from './record-act.ts';
import { recordDecisions } from './record-decisions.ts';

export const MCP_PATH = '/mcp';

/** Who asks, and was let in. */
export interface McpCaller {
  /** The id of the token; on the socket the same for all. */
  readonly owner: string;
  readonly scopes: readonly Scope[];
  readonly actor: Actor;
}

export interface DaemonMcp {
  answer(request: IncomingMessage, response: ServerResponse, caller: McpCaller): void;
  stop(): Promise<void>;
}

export interface McpRooms {
  readonly engine: Engine;
  readonly host: Pick<ApiHost, 'forCaller'>;
  /** Asked for when the first client comes. */
  version(): string;
  warn(message: string): void;
}

export function createDaemonMcp({ engine, host, version, warn }: McpRooms): DaemonMcp {
  let sessions: Promise<McpSessions> | null = null;
  const load = (): Promise<McpSessions> => {
    if (sessions !== null) return sessions;
    const loading = loadMcpSessions({
      version: version(),
      onError: (error) => warn(`mcp: ${error.message}`),
    });
    sessions = loading;
    loading.catch(() => (sessions = null)); // the next client tries again
    return loading;
  };
  const answer: DaemonMcp['answer'] = (request, response, caller) => {
    const visit = {
      owner: caller.owner,
      project: createProject(engine, host, caller.actor),
      bounds: boundsOf(caller.scopes),
    };
    load()
      .then((loaded) => loaded.answer(request, response, visit))
      .catch((error: unknown) => sendProblem(response, error));
  };
  return {
    answer,
    async stop() {
      const loaded = await sessions?.catch(() => null); // who asked got the error
      await loaded?.stop();
    },
  };
}

/** Those of `caisson mcp` without options; `admin` adds nothing to them. */
function boundsOf(scopes: readonly Scope[]): McpBounds {
  const has = (scope: McpScope): boolean => scopes.includes('admin') || scopes.includes(scope);
  const own = MCP_SCOPES.filter((scope) => scope === 'read' || has(scope));
  return { mode: 'auto-edit', session: null, runUsd: null, totalUsd: null, scopes: own };
}

function createProject(engine: Engine, host: McpRooms['host'], actor: Actor): McpProject {
  const caller: Caller = { cwd: engine.config.projectRoot, env: readHostEnvironment() as Caller['env'] };
  const open = (): Promise<Caisson> => host.forCaller(caller);
  const actorFor = (client: string): Actor => ({ ...actor, client: `mcp: ${client}`.slice(0, 100) });
  const openFor = async (client: string): Promise<Caisson> =>
    recordDecisions(leaveRunning(await open()), engine, actorFor(client));
  return {
    read: async (work) => work(await open()),
    act: async (client, work) => work(await openFor(client)),
    steer: async (client, work) => work(await openFor(client)),
    async writeBoard(client, session, work) {
      const caisson = await open();
      await recordAct(engine, actorFor(client), 'writeBoard', { session });
      return work(caisson);
    },
    async start(client, request) {
      const caisson = await openFor(client);
      await recordOrder(engine, actorFor(client), request);
      const { runId, isEarlier = false } = await caisson.dispatch(request);
      return { runId, isEarlier };
    },
    describeError: toErrorInfo,
    isDaemonLoss: () => false,
    describePatch: (patch) => ({ text: diffText(patch), files: listPatchFiles(patch) }),
  };
}

/** The daemon's runs and the daemon itself go on when a client goes. */
function leaveRunning(caisson: Caisson): Caisson {
  return {
    ...caisson,
    async answer(...given) {
      const handle = await caisson.answer(...given);
      return handle === null ? null : { ...handle, isElsewhere: true };
    },
    shutdown: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
