/** What a task of a pool asks of `dispatch`. */
import { readFileCapped } from '@caisson/ground';
import { resolve } from 'node:path';
import {
  definedOnly,
  formatTraceparent,
  parseTraceparent,
  SecretRef,
  type DispatchRequest,
} from '@caisson/protocol';
import type { ParentSpan, PoolModel, PoolTask, WorkerPoolConfig } from './contract.ts';
import { PoolConfigError } from './errors.ts';

const MAX_PROMPT_BYTES = 1024 * 1024;
const MAX_SLUG = 40;

export const DEFAULT_POOL_NAME = 'workers';
export const DEFAULT_MAX_WORKERS = 50;
export const DEFAULT_WORKER_TIMEOUT_S = 1800;

/** Refuses at once what no task could be made of. */
export function checkConfig(config: WorkerPoolConfig): void {
  const {
    maxWorkers = DEFAULT_MAX_WORKERS,
    workerTimeout = DEFAULT_WORKER_TIMEOUT_S,
    llm,
    git,
    gitToken,
  } = config;
  refuseUnknown('', config, CONFIG_FIELDS);
  refuseUnknown('llm.', llm, MODEL_FIELDS);
  refuseUnknown('git.', git, GIT_FIELDS);
  if (!Number.isInteger(maxWorkers) || maxWorkers < 1)
    throw new PoolConfigError(`maxWorkers must be a whole number above 0, not ${maxWorkers}`);
  if (!(workerTimeout > 0)) throw new PoolConfigError(`workerTimeout must be above 0, not ${workerTimeout}`);
  for (const [name, ref] of Object.entries({ 'llm.apiKey': llm?.apiKey, gitToken })) {
    if (ref === undefined || SecretRef.safeParse(ref).success) continue;
    throw new PoolConfigError(`${name} must say where the secret is, not the secret itself`, {
      remedy:
        'Name it: env:NAME, file:PATH or exec:COMMAND. The secret then is in no request, argv or record.',
    });
  }
}

type Fields<T> = Readonly<Record<keyof T, true>>;

const CONFIG_FIELDS: Fields<WorkerPoolConfig> = {
  ...{ name: true, cwd: true, maxWorkers: true, workerTimeout: true },
  ...{ llm: true, git: true, gitToken: true, request: true, pythonPath: true },
};
const MODEL_FIELDS: Fields<PoolModel> = {
  ...{ endpoint: true, model: true, maxTokens: true, temperature: true, apiKey: true },
};
const GIT_FIELDS: Fields<NonNullable<WorkerPoolConfig['git']>> = { url: true, branch: true };

/** A field with a typing mistake would be a default that nobody asked for. */
function refuseUnknown(prefix: string, given: object | undefined, known: object): void {
  const unknown = Object.keys(given ?? {}).find((field) => !Object.hasOwn(known, field));
  if (unknown === undefined) return;
  const fields = Object.keys(known).map((field) => prefix + field);
  throw new PoolConfigError(`${prefix}${unknown} is not a field of a pool`, {
    remedy: `Known are: ${fields.join(', ')}.`,
  });
}

/** `@file` is read from the project. */
export async function readPrompt(prompt: string, cwd: string): Promise<string | undefined> {
  if (prompt.trim() === '') return undefined;
  if (!prompt.startsWith('@')) return prompt;
  const path = resolve(cwd, prompt.slice(1));
  try {
    return (await readFileCapped(path, MAX_PROMPT_BYTES)).toString('utf8');
  } catch (cause) {
    throw new PoolConfigError(`the worker prompt ${path} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** The address as an OpenAI-compatible server has it: without slashes at its end, with `/v1`. */
export function normaliseEndpoint(endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '');
  return base.endsWith('/v1') ? base : `${base}/v1`;
}

/** `worker/<id>-<the first words>`. */
export function branchOf({ id, description, branch }: PoolTask): string {
  if (branch !== undefined) return branch;
  const words = (text: string): string => text.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '');
  const slug = words(description.toLowerCase()).slice(0, MAX_SLUG).replace(/-+$/, '');
  return ['worker/', words(id), slug === '' ? '' : '-', slug].join('');
}

export function composeRequest(
  config: WorkerPoolConfig,
  task: PoolTask,
  { prompt, span }: { prompt: string | undefined; span?: ParentSpan | undefined },
): DispatchRequest {
  const { llm = {}, git = {}, gitToken, workerTimeout = DEFAULT_WORKER_TIMEOUT_S } = config;
  const { scope, acceptance, priority } = task;
  const { model, endpoint, apiKey, maxTokens, temperature } = llm;
  const address = endpoint === undefined ? undefined : normaliseEndpoint(endpoint);
  const choice = definedOnly({ endpoint: address, apiKey, maxTokens, temperature });
  const remote = git.url === undefined ? {} : { repo: git.url, push: true, ...definedOnly({ gitToken }) };
  return {
    ...config.request,
    ...remote,
    ...definedOnly({ base: git.branch, model, systemPrompt: prompt, scope, acceptance, priority }),
    ...(Object.keys(choice).length === 0 ? {} : { llm: choice }),
    task: task.description,
    taskId: task.id,
    pool: config.name ?? DEFAULT_POOL_NAME,
    branch: branchOf(task),
    timeoutMs: workerTimeout * 1000,
    ...definedOnly({ trace: traceOf(span) }),
  };
}

/** Without a tracer a program's spans have a context of zeros: then there is no trace to go on in. */
function traceOf(span: ParentSpan | undefined): string | undefined {
  if (span === undefined) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  const text = formatTraceparent({ traceId, spanId, flags: traceFlags.toString(16).padStart(2, '0') });
  return parseTraceparent(text) === null ? undefined : text;
}
