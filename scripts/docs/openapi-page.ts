/** The OpenAPI description of what a daemon answers over TCP, from the operations and schemas that it runs on. */
import { ApiInputs, REQUEST_FIELDS } from '@caisson/protocol';
import * as z from 'zod/mini';
import { ANSWERS } from '../../packages/engine/src/api/answers.ts';
import type { Operation, PageRule } from '../../packages/engine/src/api/define-operation.ts';
import { OPERATIONS, type OperationName } from '../../packages/engine/src/api/operations.ts';
import { scopeOfCall } from '../../packages/engine/src/face/scopes.ts';
import { answerOfOwn, OWN_ROUTES } from './openapi-routes.ts';
import { createApiSchemas, toJson, type Json } from './openapi-schemas.ts';

type AnyOperation = Pick<Operation<unknown, unknown>, 'method' | 'path' | 'answer' | 'page'> & {
  input(): z.ZodMiniType;
};

/** Members of an input that only callers on the socket send. */
const OF_THE_SOCKET = new Set(['caller', 'attach']);

const DISPATCH: AnyOperation = {
  method: 'POST',
  path: '/v1/runs',
  answer: 'json',
  input: () => ApiInputs.dispatch,
};

export function describeApi(version: string): string {
  const schemas = createApiSchemas();
  const request = Object.entries(REQUEST_FIELDS).map(([name, { schema }]) => [name, z.optional(schema)]);
  const paths: Record<string, Json> = {};
  const add = (method: string, path: string, described: Json): void => {
    const place = path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}');
    (paths[place] ??= {})[method.toLowerCase()] = described;
  };
  for (const [route, own] of Object.entries(OWN_ROUTES)) {
    const [method = '', path = ''] = route.split(' ');
    add(method, path, describeOwn(method, own));
  }
  for (const [name, operation] of [['dispatch', DISPATCH] as const, ...Object.entries(OPERATIONS)])
    add(
      operation.method,
      operation.path,
      describeOperation(name as OperationName, operation, schemas.answerOf(name)),
    );
  const description = {
    openapi: '3.1.0',
    info: {
      title: 'Caisson',
      version,
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/', description: 'The daemon of a project; caisson ui -o json says where it listens.' },
    ],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Made by caisson tokens create.' },
      },
      headers: HEADERS,
      responses: {
        Problem: {
          description: 'What is wrong, and what to do about it.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
      schemas: {
        ...schemas.components,
        RunRequest: toJson(z.strictObject(Object.fromEntries(request) as z.core.$ZodLooseShape), 'input'),
      },
    },
  };
  return `${JSON.stringify(description, null, 2)}\n`;
}

const ABOUT = [
  'Paths and names of /v1 stay. Members may be added to answers: ignore what you do not know. What would break a client',
  'comes as /v2. Errors are application/problem+json (RFC 9457) with the members code, message, remedy and retryable:',
  'decide by the code. A list comes in pages: Link with rel="next" is the address of the next one.',
].join(' ');

const HEADERS = {
  NextPage: {
    description: 'The address of the next page, with rel="next"; absent on the last one.',
    schema: { type: 'string' },
  },
  ETag: { description: 'The same as long as the content is.', schema: { type: 'string' } },
};

function describeOwn(method: string, own: (typeof OWN_ROUTES)[string]): Json {
  return {
    operationId: own.id,
    summary: own.says,
    security: own.scope === 'none' ? [] : [{ token: [own.scope] }],
    parameters: [
      ...(own.query === undefined
        ? []
        : [{ name: 'nonce', in: 'query', required: false, schema: own.query }]),
      ...(method === 'GET' ? [] : [CLIENT]),
    ],
    ...(own.body === undefined ? {} : bodyOf(toJson(own.body, 'input'), true)),
    responses: { [own.status ?? 200]: { description: own.says, content: answerOfOwn(own) }, ...FAILURES },
  };
}

function describeOperation(name: OperationName, operation: AnyOperation, answer: Json | null): Json {
  const { method, path, page } = operation;
  const shape = Object.entries(shapeOf(operation.input())).filter(([member]) => !OF_THE_SOCKET.has(member));
  const inPath = new Set([...path.matchAll(/:(\w+)/g)].map(([, member]) => member ?? ''));
  const others = shape.filter(([member]) => !inPath.has(member));
  const { says } = ANSWERS[name];
  return {
    operationId: name,
    summary: says,
    tags: [path.split('/')[2]],
    security: [{ token: [scopeOfCall(name, { request: {} })] }],
    parameters: [
      ...shape
        .filter(([member]) => inPath.has(member))
        .map(([member, schema]) => toParameter(member, 'path', schema)),
      ...(method === 'POST'
        ? []
        : others.map(([member, schema]) => toParameter(member, 'query', schema, page))),
      ...headersOf(operation),
    ],
    ...(method === 'POST'
      ? bodyOf(
          describeBody(name, others),
          others.some(([, schema]) => !isOptional(schema)),
        )
      : {}),
    responses: { ...describeAnswer(name, operation, answer), ...FAILURES },
  };
}

function shapeOf(input: z.ZodMiniType): Record<string, z.ZodMiniType> {
  return (input as z.ZodMiniObject).shape as Record<string, z.ZodMiniType>;
}

function isOptional(schema: z.ZodMiniType): boolean {
  return schema._zod.optin === 'optional';
}

function toParameter(name: string, place: 'path' | 'query', schema: z.ZodMiniType, page?: PageRule): Json {
  const described = toJson(schema, 'output');
  const list = described['type'] === 'array' ? { style: 'form', explode: false } : {};
  const limit = page === undefined || name !== 'limit' ? {} : { maximum: page.maxRows, default: page.rows };
  return {
    name,
    in: place,
    required: place === 'path' || !isOptional(schema),
    ...list,
    schema: { ...described, ...limit },
  };
}

function describeBody(name: OperationName, members: readonly (readonly [string, z.ZodMiniType])[]): Json {
  const body = toJson(z.strictObject(Object.fromEntries(members)), 'input');
  const part = name === 'dispatch' ? 'request' : name === 'continuation' ? 'changes' : null;
  if (part === null) return body;
  const properties = { ...(body['properties'] as Json), [part]: { $ref: '#/components/schemas/RunRequest' } };
  return { ...body, properties };
}

function bodyOf(schema: Json, required: boolean): Json {
  return { requestBody: { required, content: { 'application/json': { schema } } } };
}

const CLIENT = {
  name: 'Caisson-Client',
  in: 'header',
  required: true,
  description: 'The name of your program.',
  schema: { type: 'string' },
};
const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});

const KEY = header(
  'Idempotency-Key',
  'A repeat with the same key and input does nothing again and gets the first answer, for a day. Each token has its own keys.',
);

function headersOf({ method, answer }: AnyOperation): Json[] {
  if (method !== 'GET') return [CLIENT, ...(method === 'POST' ? [KEY] : [])];
  if (answer === 'events')
    return [header('Last-Event-ID', 'Goes on behind this event; counts before `after`.')];
  return answer === 'bytes'
    ? [header('Range', 'One range of bytes.'), header('If-None-Match', 'The ETag of what you have.')]
    : [];
}

const BINARY = {
  'application/octet-stream': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } },
};

function describeAnswer(name: OperationName, { answer, page }: AnyOperation, schema: Json | null): Json {
  const { says } = ANSWERS[name];
  const headers = { ETag: { $ref: '#/components/headers/ETag' } };
  switch (answer) {
    case 'events':
      return {
        200: {
          description: `${says} Each event is the JSON of an Event; a comment comes at least every 15 seconds.`,
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
      };
    case 'chunks':
      return { 200: { description: says, content: BINARY } };
    case 'bytes':
      return {
        200: { description: says, headers, content: BINARY },
        206: { description: 'The range.', headers, content: BINARY },
        304: { description: 'You have it.' },
        416: { description: 'It has no such range.' },
      };
    case 'json':
      return {
        [name === 'dispatch' ? 201 : 200]: {
          description: says,
          ...(page === undefined ? {} : { headers: { Link: { $ref: '#/components/headers/NextPage' } } }),
          content: { 'application/json': { schema: schema ?? {} } },
        },
      };
  }
}

const PROBLEM = { $ref: '#/components/responses/Problem' };
const FAILURES = { '4XX': PROBLEM, '5XX': PROBLEM };
