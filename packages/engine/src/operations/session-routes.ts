/** A page signs in with the code of its link, changes its token, and signs out. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@caisson/ground';
import type { NewToken, Scope } from '@caisson/protocol';
import { sendProblem } from '../api/index.ts';
import type { Guard, Links, TokenOrder, Tokens, Visitor } from '../face/index.ts';
import { VisitRefusedError } from '../platform/index.ts';

const SESSION_MS = 12 * 3_600_000;
/** Whatever is rotated: then a page needs another link. */
const LONGEST_SESSION_MS = 7 * 86_400_000;
const MAX_BODY_BYTES = 4096;
/** A link is made for the person who may open the socket, and so may do everything. */
const OWNER: readonly Scope[] = ['read', 'run', 'decide', 'admin'];

export interface SessionRooms {
  readonly tokens: Tokens;
  readonly links: Links;
  readonly clock: Clock;
  readonly guard: Pick<Guard, 'countFailure'>;
}

export type AnswerSession = (
  request: IncomingMessage,
  response: ServerResponse,
  visitor: Visitor | null,
) => void;

export function createSessionRoutes({ tokens, links, guard, clock }: SessionRooms): AnswerSession {
  const orderOf = (scopes: readonly Scope[], name: string, endsAt = findEnd(clock)): TokenOrder => {
    const leftMs = Math.max(0, Date.parse(endsAt) - clock.wallMs());
    return { name, scopes, expiresInMs: Math.min(SESSION_MS, leftMs), kind: 'session', endsAt };
  };
  const exchange = async (request: IncomingMessage): Promise<object> => {
    const { link } = (await readJson(request)) as { link?: unknown };
    if (typeof link === 'string' && links.use(link))
      return toAnswer(await tokens.create(orderOf(OWNER, 'dashboard')));
    guard.countFailure();
    throw new VisitRefusedError(
      401,
      'LINK_USED',
      'this link was used already, or is older than five minutes',
      'caisson ui opens a new page.',
    );
  };
  const answer = async (request: IncomingMessage, visitor: Visitor | null): Promise<object> => {
    if (visitor === null) return await exchange(request);
    const { id, name, kind, scopes, expiresAt, endsAt } = visitor;
    const route = `${request.method} ${request.url?.split('?', 1)[0] ?? ''}`;
    if (route === 'GET /v1/session') return { id, name, scopes, expiresAt };
    if (route === 'DELETE /v1/session') return { isRevoked: await tokens.revoke(id) };
    if (route !== 'POST /v1/session/rotation')
      throw new VisitRefusedError(404, 'USAGE', `there is no ${route}`);
    if (kind !== 'session') throw refuseRotation();
    const next = await tokens.rotate(id, orderOf(scopes, name, endsAt));
    if (next === null) throw refuseEnded();
    return toAnswer(next);
  };
  return (request, response, visitor) =>
    void answer(request, visitor).then(
      (body) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      },
      (error: unknown) => sendProblem(response, error),
    );
}

function toAnswer({ token, id, scopes, expiresAt }: NewToken): object {
  return { token, id, scopes, expiresAt };
}

function findEnd(clock: Clock): string {
  return new Date(clock.wallMs() + LONGEST_SESSION_MS).toISOString();
}

/** Another token would outlive the time that a person gave this one, and its revocation. */
function refuseRotation(): VisitRefusedError {
  return new VisitRefusedError(
    403,
    'SCOPE_MISSING',
    'only the session of a page is rotated; a token stays as it was made',
    'caisson tokens create makes another one.',
  );
}

/** It was rotated or ended while this request waited. */
function refuseEnded(): VisitRefusedError {
  return new VisitRefusedError(
    401,
    'NOT_SIGNED_IN',
    'this session has ended',
    'caisson ui opens a page that is signed in.',
  );
}

async function readJson(request: IncomingMessage): Promise<object> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > MAX_BODY_BYTES) throw new VisitRefusedError(413, 'USAGE', 'the body is too long');
  }
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) return body;
  } catch {
    // said below
  }
  throw new VisitRefusedError(400, 'USAGE', 'the body must be a JSON object');
}
