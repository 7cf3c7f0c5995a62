/** A client that knows of the API what its OpenAPI description says, and asks with curl. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';

type Json = Record<string, unknown>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly enum?: readonly string[] };
}

interface Answered {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<'get' | 'post' | 'delete', Operation>>>>>;
  readonly components: { readonly schemas: Json };
}

interface Operation {
  /** The scopes that a token needs. */
  readonly security: readonly { readonly token?: readonly string[] }[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Json }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: Json }>> }>
  >;
}

/** Where an id comes from: the list that has it, and the member of a row. */
const IDS: Readonly<Record<string, readonly [list: string, member: string]>> = {
  session: ['/v1/sessions', 'name'],
  question: ['/v1/questions', 'questionId'],
  approval: ['/v1/approvals?all=true', 'approvalId'],
  sense: ['/v1/senses', 'name'],
  workflow: ['/v1/workflows', 'name'],
  path: ['/v1/runs/{run}/outputs', 'path'],
  run: ['/v1/runs', 'runId'],
  thread: ['/v1/threads', 'threadId'],
  resident: ['/v1/residents', 'key'],
  reference: ['/v1/registry/agents', 'name'],
};

/** An answer that never ends is read for so long; any other has as much time as a busy machine takes. */
const STREAM_SECONDS = '1';
const MAX_SECONDS = '60';

const run = promisify(execFile);

export async function curl(
  url: string,
  token: string,
  seconds = MAX_SECONDS,
  more: readonly string[] = [],
): Promise<Answered> {
  const form = '\n%{http_code} %{content_type}';
  const args = ['-s', '-m', seconds, '-w', form, '-H', `Authorization: Bearer ${token}`, ...more, url];
  const { stdout } = await run('curl', args, { maxBuffer: 64 * 1024 * 1024 }).catch((error: unknown) => {
    const ended = error as { code?: number; stdout: string };
    if (ended.code !== 28) throw error; // it took longer: it is a stream
    return ended;
  });
  const cut = stdout.lastIndexOf('\n');
  const [status = '', type = ''] = stdout.slice(cut + 1).split(/ (.*)/);
  return { status: Number(status), type: type.split(';')[0] ?? '', text: stdout.slice(0, cut) };
}

/** Asks every GET route with a token of its scope, and returns what differs from the description. */
export async function compareAll(
  description: Description,
  url: string,
  tokens: Readonly<Record<string, string>>,
): Promise<string[]> {
  const check = createCheck(description);
  const differences: string[] = [];
  for (const [path, { get }] of Object.entries(description.paths)) {
    if (get === undefined) continue;
    const token = tokens[get.security[0]?.token?.[0] ?? ''] ?? '';
    const asked = await fill(path, get, url, token);
    const isLive = path.endsWith('/live') || path === '/v1/events';
    const answer = await curl(new URL(asked, url).href, token, isLive ? STREAM_SECONDS : MAX_SECONDS);
    const content = get.responses[answer.status]?.content?.[answer.type];
    if (content === undefined)
      differences.push(`GET ${asked}: ${answer.status} ${answer.type} ${answer.text.slice(0, 300)}`);
    else if (answer.type === 'application/json')
      differences.push(...check(asked, content.schema, answer.text));
  }
  return differences;
}

/** How a change is made of its description. */
export interface Changing {
  readonly url: string;
  readonly token: string;
  /** What a member is, by its name; others get the least that their schema allows. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Paths that are left out, because they would end what asks. */
  readonly omits: readonly string[];
}

export interface Changed {
  readonly differences: readonly string[];
  /** The operations that were carried out, and not refused. */
  readonly done: readonly string[];
}

/** Makes every POST, then every DELETE, with a body of what its schema needs; and each once with a member that it does not have. */
export async function changeAll(description: Description, changing: Changing): Promise<Changed> {
  const check = createCheck(description);
  const [differences, done]: [string[], string[]] = [[], []];
  for (const method of ['post', 'delete'] as const)
    for (const [path, { [method]: operation }] of Object.entries(description.paths)) {
      if (operation === undefined || changing.omits.includes(path)) continue;
      const name = `${method.toUpperCase()} ${path}`;
      const schema = operation.requestBody?.content['application/json']?.schema;
      const body = schema === undefined ? {} : (leastOf('', schema, changing.values) as Json);
      if (schema !== undefined) differences.push(...check(name, schema, JSON.stringify(body)));
      if (schema?.['additionalProperties'] === false) {
        const strange = await change(path, method, operation, changing, { ...body, notDescribed: 1 });
        if (strange.status !== 400)
          differences.push(`${name} takes what is not described: ${strange.status}`);
      }
      const answer = await change(path, method, operation, changing, body);
      const described = operation.responses[answer.status]?.content?.[answer.type];
      if (described === undefined) differences.push(...checkProblem(name, answer, check));
      else done.push(name);
      if (answer.type === 'application/json' && described !== undefined)
        differences.push(...check(name, described.schema, answer.text));
    }
  return { differences, done };
}

async function change(
  path: string,
  method: string,
  operation: Operation,
  { url, token, values }: Changing,
  body: Json,
): Promise<Answered> {
  const asked = await fill(path, operation, url, token, values);
  const headers = ['-H', 'content-type: application/json', '-H', 'caisson-client: described'];
  const sent = ['-X', method.toUpperCase(), ...headers, '-d', JSON.stringify(body)];
  return await curl(new URL(asked, url).href, token, MAX_SECONDS, sent);
}

/** Every refusal is described, too; a failure of the host itself is none. */
function checkProblem(name: string, { status, type, text }: Answered, check: Check): string[] {
  if (status < 400 || status >= 500 || type !== 'application/problem+json')
    return [`${name}: ${status} ${type} ${text.slice(0, 300)}`];
  return check(name, { $ref: '#/components/schemas/Problem' }, text);
}

/** The least value of a schema: of an object what it requires. */
function leastOf(name: string, schema: Json, values: Changing['values']): unknown {
  if (Object.hasOwn(values, name)) return values[name];
  const {
    type,
    required = [],
    properties = {},
  } = schema as {
    type?: string;
    required?: string[];
    properties?: Record<string, Json>;
  };
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if (type === 'object')
    return Object.fromEntries(required.map((key) => [key, leastOf(key, properties[key] ?? {}, values)]));
  return { string: 'described', array: [], integer: 1, number: 1, boolean: false }[type ?? ''] ?? null;
}

/** Of a path with `{run}` and the like: values that it may have, from an enum or from the list that has them. */
async function fill(
  path: string,
  { parameters }: Operation,
  url: string,
  token: string,
  values: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  let filled = path;
  for (const { name, in: place, schema } of parameters) {
    if (place !== 'path') continue;
    const known = values[name];
    const found = typeof known === 'string' ? known : schema.enum?.[0];
    const value = found ?? (await findId(name, filled, url, token));
    filled = filled.replace(`{${name}}`, encodeURIComponent(value));
  }
  return filled;
}

async function findId(name: string, filled: string, url: string, token: string): Promise<string> {
  const [list = '', member = ''] = IDS[name] ?? [];
  // A list inside a run is that of the run in the path.
  const [, runId = ''] = /^\/v1\/runs\/([^/{]+)/.exec(filled) ?? [];
  const { text } = await curl(new URL(list.replace('{run}', runId), url).href, token);
  const rows = JSON.parse(text) as Json[];
  const value = rows[0]?.[member];
  if (typeof value === 'string') return value;
  throw new Error(`${filled}: nothing is known of ${name}`);
}

/** Answers are open for members of later versions; today's has none that is not described. */
type Check = (path: string, schema: Json, text: string) => string[];

function createCheck({ components }: Description): Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  const schemas = close(components.schemas) as Json;
  return (path, schema, text) => {
    const closed = close(schema) as Json;
    const matches = ajv.compile({ ...closed, components: { schemas } });
    if (matches(JSON.parse(text))) return [];
    return (matches.errors ?? [])
      .slice(0, 5)
      .map((error) => `${path}: ${ajv.errorsText([error])} ${JSON.stringify(error.params)}`);
  };
}

function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, close(member)]));
  const isOpen = copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy);
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}
