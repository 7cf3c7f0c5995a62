/**
 * MCP over HTTP (streamable): a server for each client, found by the id of its session. A session belongs to who began it:
 * with another token it does not exist.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { McpSessions, McpSessionsParts, McpVisit } from './contract.ts';
import { openMcpSession, type McpSession } from './mcp-session.ts';
import { createSpentHere, type SpentHere } from './spent-here.ts';

/** Beyond it, the one that was used least recently ends: its client begins another. */
const MAX_SESSIONS = 32;
const MAX_OWNERS = 256;
const MAX_BODY_BYTES = 1024 * 1024;
/** As the SDK names it. */
const NO_SESSION = { code: -32_001, message: 'Session not found' };

interface Open extends McpSession {
  readonly owner: string;
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
  const begin = async (visit: McpVisit): Promise<Open> => {
    const { owner, project, bounds } = visit;
    const session = openMcpSession({ project, bounds, spent: spentOf(spent, visit), version, onError });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: MAX_BODY_BYTES,
      onsessioninitialized(id) {
        sessions.set(id, open);
        const [oldest] = sessions.size > MAX_SESSIONS ? sessions.keys() : [];
        if (oldest !== undefined) end(oldest);
      },
      onsessionclosed: end,
    });
    const open: Open = { ...session, owner, transport };
    await session.server.connect(transport);
    return open;
  };
  return {
    async answer(request, response, visit) {
      const id = request.headers['mcp-session-id'];
      if (id === undefined) {
        const session = await begin(visit);
        await session.transport.handleRequest(request, response);
        if (session.transport.sessionId === undefined) await session.end(); // it did not begin with initialize
        return;
      }
      const session = sessions.get(String(id));
      if (session?.owner !== visit.owner) return refuse(response);
      sessions.delete(String(id));
      sessions.set(String(id), session);
      await session.transport.handleRequest(request, response);
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
  spent.set(owner, known);
  const [first] = spent.size > MAX_OWNERS ? spent.keys() : [];
  if (first !== undefined) spent.delete(first);
  return known;
}

function refuse(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: NO_SESSION, id: null }));
}
