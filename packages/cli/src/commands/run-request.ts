import type { DispatchRequest } from '@caisson/engine';
import { definedOnly, parseMemory } from '@caisson/protocol';
import { readDuration } from '../read-duration.ts';
import { UsageError } from '../usage-error.ts';
import type { RunValues } from './run-options.ts';

/** The options of the command line; only given ones are in it. */
export function toRequest(
  values: RunValues,
  task: string | undefined,
  argv: readonly string[] | null,
  env: Readonly<Record<string, string | undefined>>,
): DispatchRequest {
  const request = {
    task,
    argv: argv ?? undefined,
    runtime: values.runtime ?? (argv === null ? undefined : 'command'),
    agent: values.agent,
    model: values.model,
    login: values.login,
    mode: values.mode,
    sandbox: values.sandbox as DispatchRequest['sandbox'],
    workspace: values.workspace as DispatchRequest['workspace'],
    bring: values.bring,
    repo: values.repo,
    base: values.base,
    timeoutMs: readWait('--timeout', values.timeout),
    stallTimeoutMs: readWait('--stall-timeout', values['stall-timeout']),
    budget: definedOnly({
      usd: readNumber('--budget', values.budget),
      tokens: readNumber('--max-tokens', values['max-tokens']),
      turns: readNumber('--max-turns', values['max-turns']),
      toolCalls: readNumber('--max-tool-calls', values['max-tool-calls']),
    }),
    limits: definedOnly({
      memory: values.memory === undefined ? undefined : parseMemory(values.memory),
      cpus: readNumber('--cpus', values.cpus),
      pids: readNumber('--pids', values.pids),
    }),
    network: values.network === undefined ? undefined : readNetwork(values.network),
    tools: values.tool.length === 0 ? undefined : values.tool,
    verify: values.verify,
    verifyLens: values['verify-lens'] as DispatchRequest['verifyLens'],
    capabilities: values.capability,
    ...readVariables(values.env, env),
    envBundles: values['env-bundle'],
    secrets: Object.fromEntries(values.secret.map((word) => readPair('--secret', 'NAME=REF', word))),
    pipeline: values.pipeline,
    inputs: readInputs(values.input),
    scope: values.scope,
    outsideScope: values['outside-scope'] as DispatchRequest['outsideScope'],
    acceptance: values.accept,
    branch: values.branch,
    push: values.push || undefined,
    gitToken: values['git-token'],
    allowRisky: values['allow-risky'],
    priority: readNumber('--priority', values.priority),
    retries: readNumber('--retries', values.retries),
    session: values.session,
    idempotencyKey: values['idempotency-key'],
    overflow: values.overflow as DispatchRequest['overflow'],
    callbacks: values.callback,
  } satisfies { [K in keyof DispatchRequest]: DispatchRequest[K] | undefined };
  return definedOnly(request);
}

function readWait(option: string, given: string | undefined): number | undefined {
  return given === undefined ? undefined : readDuration(option, given);
}

function readNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new UsageError(`${option} needs a number, got "${text}"`);
  return value;
}

function readNetwork(text: string): NonNullable<DispatchRequest['network']> {
  if (text === 'none' || text === 'full') return { kind: text };
  if (text.startsWith('hosts=')) {
    const hosts = text.slice('hosts='.length).split(',').filter(Boolean);
    const bad = hosts.find((host) => !/^[A-Za-z0-9.\-_[\]:]+:\d{1,5}$/.test(host));
    if (hosts.length === 0)
      throw new UsageError('--network hosts= names no host', {
        remedy: 'Use --network none, or name them: --network hosts=registry.npmjs.org:443',
      });
    if (bad !== undefined)
      throw new UsageError(`--network: "${bad}" is not host:port`, {
        remedy: 'For example: --network hosts=registry.npmjs.org:443',
      });
    return { kind: 'hosts', hosts: hosts.map((host) => host.toLowerCase()) };
  }
  throw new UsageError(`--network: "${text}" is unknown`, {
    remedy: 'Use none, full, or hosts=a:443,b:443.',
  });
}

/** What is only named is passed on: a retry takes it from its own caller. */
export function readVariables(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Required<Pick<DispatchRequest, 'env' | 'passEnv'>> {
  const passEnv = words.filter((word) => word.indexOf('=') < 1);
  const unset = passEnv.find((name) => env[name] === undefined);
  if (unset !== undefined)
    throw new UsageError(`--env ${unset}: the variable is not set here`, {
      remedy: `Give it a value: --env ${unset}=…`,
    });
  const given = words
    .filter((word) => word.indexOf('=') >= 1)
    .map((word) => readPair('--env', 'NAME=VALUE', word));
  const values = Object.fromEntries(given);
  return { env: values, passEnv: passEnv.filter((name) => values[name] === undefined) };
}

/** Of two files for one place one would be lost silently. */
function readInputs(words: readonly string[]): Record<string, string> {
  const inputs = new Map<string, string>();
  for (const word of words) {
    const [key, path] = readPair('--input', 'KEY=PATH', word);
    if (inputs.has(key)) throw new UsageError(`--input names "${key}" twice`);
    inputs.set(key, path);
  }
  return Object.fromEntries(inputs);
}

function readPair(option: string, form: string, word: string): [string, string] {
  const at = word.indexOf('=');
  if (at < 1) throw new UsageError(`${option} needs ${form}, got "${word}"`);
  return [word.slice(0, at), word.slice(at + 1)];
}
