/** Every request that comes over TCP: judged by the guard of `face`, then answered by a page or by the routes of the socket. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { Caller, Scope } from '@caisson/protocol';
import { createApi, createAttachments, sendProblem, type ApiHost, type Entrance } from '../api/index.ts';
import { bundlePath } from '../composition/bundle-path.ts';
import { readHostEnvironment } from '../config/index.ts';
import { CONTROL_PATHS } from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import {
  allows,
  createGuard,
  createTokens,
  readPages,
  scopeOfCall,
  scopeOfPath,
  type Links,
  type Page,
  type Visitor,
} from '../face/index.ts';
import { VisitRefusedError } from '../platform/index.ts';
import { recordVisit } from './record-visit.ts';
import { createSessionRoutes } from './session-routes.ts';

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
  readonly links: Links;
  /** `http://name:port` of every name that we answer to. */
  origins(): readonly string[];
}

export function answerVisits({ engine, host, answerControl, links, origins }: VisitRooms): RequestListener {
  const { clock, ledger } = engine;
  const tokens = createTokens(ledger, clock);
  const visitors = new WeakMap<IncomingMessage, Visitor>();
  const guard = createGuard({ tokens, clock, origins });
  const answerApi = createApi(host, createAttachments(clock), createEntrance(engine, visitors));
  const answerSession = createSessionRoutes({ tokens, links, guard });
  const pageOf = readPages(dirname(bundlePath('dashboard/index.html')));
  const answer: RequestListener = (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const isPage = !path.startsWith('/v1/');
    guard.checkOrigin(request, isPage);
    if (isPage) return sendPage(request, response, pageOf(path));
    if (path === '/v1/session' && request.method === 'POST') return answerSession(request, response, null);
    const visitor = guard.identify(request);
    visitors.set(request, visitor);
    if (path === '/v1/session' || path.startsWith('/v1/session/'))
      return answerSession(request, response, visitor);
    if (!CONTROL_PATHS.includes(path)) return answerApi(request, response);
    requireScope(visitor, scopeOfPath(path));
    answerControl(request, response);
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
  const requireVisitor = (request: IncomingMessage): Visitor => {
    const visitor = visitors.get(request);
    if (visitor === undefined) throw new Error('a request without a visitor');
    return visitor;
  };
  return {
    caller: () => ({ cwd: engine.config.projectRoot, env: readHostEnvironment() as Caller['env'] }),
    ownerOf: (request) => requireVisitor(request).id,
    admitBody: (request, operation) => requireScope(requireVisitor(request), scopeOfCall(operation, LEAST)),
    async admit(request, operation, input) {
      const visitor = requireVisitor(request);
      requireScope(visitor, scopeOfCall(operation, input));
      if (request.method !== 'GET' && request.method !== 'HEAD')
        await recordVisit(engine, visitor, operation, input);
    },
  };
}

function requireScope({ scopes }: Visitor, needed: Scope): void {
  if (allows(scopes, needed)) return;
  throw new VisitRefusedError(
    403,
    'SCOPE_MISSING',
    `this token lacks the scope ${needed}`,
    'caisson tokens create --scope makes another one.',
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
