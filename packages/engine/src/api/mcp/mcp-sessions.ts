/**
 * MCP over HTTP (streamable): a server for each client, found by the id of its session. A session belongs to who began it:
 * with another token it does not exist.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { McpSessions, McpSessionsParts, McpVisit } from './contract.ts';
import { withDropped } from './dropped-request.ts';
import { openMcpSession, type McpSession } from './mcp-session.ts';
import { findRoom, type RoomSession } from './session-room.ts';
import { createSpentHere, type SpentHere } from './spent-here.ts';

const MAX_OWNERS = 256;
const MAX_BODY_BYTES = 1024 * 1024;
/** As the SDK names it. */
const NO_SESSION = { code: -32_001, message: 'Session not found' };
const NO_ROOM = {
  code: -32_000,
  message: 'All sessions of this token have calls under way: end one of them',
};

interface Open extends McpSession, RoomSession {
  readonly transport: StreamableHTTPServerTransport;
}

export function createMcpSessions({ version, onError }: McpSessionsParts): McpSessions {
  /** In the order of their last use. */
  const sessions = new Map<string, Open>();
  const spent = new Map<string, SpentHere>();
  const end = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.end().catch(onError);
  };
  /** Begins another one, which has its place from now on, and answers with it. */
  const begin = async (request: IncomingMessage, response: ServerResponse, visit: McpVisit) => {
    const { owner } = visit;
    const id = randomUUID();
    let isBegun = false;
    const session = openMcpSession({ ...visit, spent: spentOf(spent, visit), version, onError });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      maxRequestBodySize: MAX_BODY_BYTES,
      onsessionclosed: end,
    });
    sessions.set(id, { ...session, owner, transport, isBusy: () => !isBegun || session.isBusy() });
    try {
      await session.server.connect(transport);
      await transport.handleRequest(withDropped(request, response), response);
    } finally {
      isBegun = true;
      if (transport.sessionId === undefined) end(id); // it did not begin with initialize
    }
  };
  return {
    async answer(request, response, visit) {
      const id = request.headers['mcp-session-id'];
      if (id === undefined) {
        const room = findRoom(sessions, visit.owner);
        if (room.kind === 'none') return refuse(response, 429, NO_ROOM);
        if (room.kind === 'ends') end(room.id);
        return await begin(request, response, visit);
      }
      const session = sessions.get(String(id));
      if (session?.owner !== visit.owner) return refuse(response, 404, NO_SESSION);
      sessions.delete(String(id));
      sessions.set(String(id), session);
      await session.transport.handleRequest(withDropped(request, response), response);
    },
    async stop() {
      const ended = [...sessions.values()].map((session) => session.end());
      sessions.clear();
      await Promise.allSettled(ended);
    },
  };
}

/** All sessions of a token together start no more runs than one server may. */
function spentOf(spent: Map<string, SpentHere>, { owner, bounds }: McpVisit): SpentHere {
  const known = spent.get(owner) ?? createSpentHere(bounds.totalUsd);
  spent.delete(owner); // it is the last one that was used
  spent.set(owner, known);
  const [first] = spent.size > MAX_OWNERS ? spent.keys() : [];
  if (first !== undefined) spent.delete(first);
  return known;
}

function refuse(response: ServerResponse, status: number, error: typeof NO_SESSION): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
}
