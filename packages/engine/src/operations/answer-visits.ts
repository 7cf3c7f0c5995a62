/** Every request that comes over TCP: judged by the guard of `face`, then answered by a page or by the routes of the socket. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Caller, DispatchRequest, Scope } from '@caisson/protocol';
import { createApi, createAttachments, sendProblem, type ApiHost, type Entrance } from '../api/index.ts';
import { bundlePath } from '../composition/bundle-path.ts';
import { readHostEnvironment } from '../config/index.ts';
import { actOfControl, CONTROL_PATHS } from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import {
  allows,
  createGuard,
  createOpenAnswers,
  createTokens,
  readPages,
  scopeOfCall,
  scopeOfPath,
  type Links,
  type Page,
  type Visitor,
} from '../face/index.ts';
import { VisitRefusedError } from '../platform/index.ts';
import { MCP_PATH, type DaemonMcp } from './daemon-mcp.ts';
import { recordAct, recordControl, recordOrder, type Actor } from './record-act.ts';
import { recordStart } from './record-decisions.ts';
import { scopeByRuns } from './scope-by-runs.ts';
import { createSessionRoutes } from './session-routes.ts';
import { nameOfClient } from './socket-entrance.ts';

const NO_STORE = 'no-store';
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'cache-control': NO_STORE,
};

export interface VisitRooms {
  readonly engine: Engine;
  readonly host: ApiHost;
  /** Answers the routes about the daemon itself. */
  readonly answerControl: RequestListener;
  readonly mcp: DaemonMcp;
  readonly links: Links;
  /** Every origin that is ours. */
  origins(): readonly string[];
  /** The one at the other end has shown a token. */
  onKnown(connection: Socket): void;
}

export function answerVisits(rooms: VisitRooms): RequestListener {
  const { engine, host, mcp, answerControl, links, origins, onKnown } = rooms;
  const { clock, ledger } = engine;
  const tokens = createTokens(ledger, clock);
  const visitors = new WeakMap<IncomingMessage, Visitor>();
  const answers = createOpenAnswers(tokens, clock);
  const guard = createGuard({ tokens, clock, origins });
  const answerApi = createApi(host, createAttachments(clock), createEntrance(engine, visitors));
  const answerSession = createSessionRoutes({ tokens, links, guard, clock });
  const pageOf = readPages(dirname(bundlePath('dashboard/index.html')));
  const answer: RequestListener = (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const kind = path === MCP_PATH ? 'mcp' : path.startsWith('/v1/') ? 'operation' : 'page';
    guard.checkOrigin(request, kind);
    if (kind === 'page') return sendPage(request, response, pageOf(path));
    if (path === '/v1/session' && request.method === 'POST') return answerSession(request, response, null);
    const visitor = guard.identify(request);
    visitors.set(request, visitor);
    onKnown(request.socket);
    // A sign-out is answered.
    if (path === '/v1/session' || path.startsWith('/v1/session/'))
      return answerSession(request, response, visitor);
    answers.watch(visitor.id, response);
    if (kind === 'mcp')
      return mcp.answer(request, response, {
        owner: visitor.id,
        scopes: visitor.scopes,
        actor: actorOf(visitor, request),
      });
    if (!CONTROL_PATHS.includes(path)) return answerApi(request, response);
    requireScope(visitor, scopeOfPath(path));
    const act = actOfControl(request.method, path);
    if (act === null) return answerControl(request, response);
    void recordControl(engine, actorOf(visitor, request), act).then(
      () => answerControl(request, response),
      (error: unknown) => sendProblem(response, error),
    );
  };
  return (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    try {
      answer(request, response);
    } catch (error) {
      sendProblem(response, error);
    }
  };
}

/** What a visitor of the smallest scope for an operation may ask of it. */
const LEAST = { request: {} };

function createEntrance(engine: Engine, visitors: WeakMap<IncomingMessage, Visitor>): Entrance {
  const visitorOf = (request: IncomingMessage): Visitor => {
    const visitor = visitors.get(request);
    if (visitor === undefined) throw new Error('a request without a visitor');
    return visitor;
  };
  return {
    caller: () => ({ cwd: engine.config.projectRoot, env: readHostEnvironment() as Caller['env'] }),
    ownerOf: (request) => visitorOf(request).id,
    boundsOf: (request) => (visitorOf(request).scopes.includes('admin') ? {} : { within: 'project' }),
    admitBody: (request, operation) => requireScope(visitorOf(request), scopeOfCall(operation, LEAST)),
    async admit(request, operation, input) {
      const visitor = visitorOf(request);
      requireScope(visitor, scopeOfCall(operation, input));
      const { scope, remedy } = await scopeByRuns(engine, operation, input);
      requireScope(visitor, scope, remedy);
    },
    async record(request, operation, input) {
      if (scopeOfCall(operation, input) === 'read') return; // it changes nothing, whatever its method
      const actor = actorOf(visitorOf(request), request);
      if (operation === 'dispatch') await recordOrder(engine, actor, input['request'] as DispatchRequest);
      else await recordAct(engine, actor, operation, input);
    },
    started: (request, run) => recordStart(engine, actorOf(visitorOf(request), request), run),
  };
}

/** A page calls itself what its session is called. */
function actorOf({ id, name }: Visitor, request: IncomingMessage): Actor {
  const client = nameOfClient(request);
  return { by: name, token: id, ...(client === undefined || client === name ? {} : { client }) };
}

function requireScope({ scopes }: Visitor, needed: Scope, remedy?: string): void {
  if (allows(scopes, needed)) return;
  throw new VisitRefusedError(
    403,
    'SCOPE_MISSING',
    `this token lacks the scope ${needed}`,
    remedy ?? 'caisson tokens create --scope makes another one.',
  );
}

function sendPage({ method }: IncomingMessage, response: ServerResponse, page: Page | null): void {
  if (method !== 'GET' && method !== 'HEAD') throw new VisitRefusedError(405, 'USAGE', 'a page is only read');
  if (page === null) throw new VisitRefusedError(404, 'USAGE', 'there is no such page');
  response.writeHead(200, {
    'content-type': page.type,
    'content-length': page.bytes.length,
    'cache-control': page.isImmutable ? 'public, max-age=31536000, immutable' : NO_STORE,
  });
  response.end(method === 'HEAD' ? undefined : page.bytes);
}
