/** Routes of a daemon that are no operation of the library. */
import { DaemonStatus, HostIntroduction, ReloadReport, Scope, StopOrder, Timestamp } from '@caisson/protocol';
import * as z from 'zod/mini';
import { toJson, type Json } from './openapi-schemas.ts';

interface OwnRoute {
  readonly id: string;
  readonly says: string;
  /** None: nobody needs to be signed in. */
  readonly scope: 'none' | Scope;
  readonly query?: Json;
  readonly body?: z.ZodMiniType;
  readonly status?: number;
  readonly answer: z.ZodMiniType | 'text';
}

const visitor = { id: z.string(), scopes: z.array(Scope), expiresAt: z.nullable(Timestamp) };
const Session = z.object({ ...visitor, token: z.string() });

export const OWN_ROUTES: Readonly<Record<string, OwnRoute>> = {
  'GET /v1/hello': {
    id: 'hello',
    says: 'Who answers, and a proof that it can read the key of the state folder.',
    scope: 'read',
    query: { type: 'string' },
    answer: HostIntroduction,
  },
  'GET /v1/openapi.json': {
    id: 'description',
    says: 'This description.',
    scope: 'read',
    answer: z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) }),
  },
  'GET /v1/status': { id: 'status', says: 'What the daemon does.', scope: 'read', answer: DaemonStatus },
  'GET /v1/metrics': {
    id: 'metrics',
    says: 'Counters of the daemon in the text format of Prometheus.',
    scope: 'read',
    answer: 'text',
  },
  'POST /v1/stop': {
    id: 'stop',
    says: 'Ends the daemon; it answers before it does.',
    scope: 'admin',
    body: StopOrder,
    status: 202,
    answer: DaemonStatus,
  },
  'POST /v1/reload': {
    id: 'reload',
    says: 'Reads the configuration again.',
    scope: 'admin',
    body: z.object({}),
    answer: ReloadReport,
  },
  'POST /v1/session': {
    id: 'signIn',
    says: 'Exchanges the code of a one-time link for a token.',
    scope: 'none',
    body: z.object({ link: z.string() }),
    answer: Session,
  },
  'GET /v1/session': {
    id: 'session',
    says: 'Whose token this is.',
    scope: 'read',
    answer: z.object({ ...visitor, name: z.string() }),
  },
  'DELETE /v1/session': {
    id: 'signOut',
    says: 'Ends the token of this request.',
    scope: 'read',
    answer: z.object({ isRevoked: z.boolean() }),
  },
  'POST /v1/session/rotation': {
    id: 'rotateSession',
    says: 'Replaces the token of this request by a new one.',
    scope: 'read',
    body: z.object({}),
    answer: Session,
  },
};

export function answerOfOwn({ answer }: OwnRoute): Json {
  if (answer === 'text') return { 'text/plain': { schema: { type: 'string' } } };
  return { 'application/json': { schema: toJson(answer, 'input') } };
}
