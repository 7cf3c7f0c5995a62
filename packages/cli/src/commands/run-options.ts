/** The options of `run`, and how they become a request. */
import type { DispatchRequest } from '@caisson/engine';
import { parseDuration, parseSize } from '@caisson/protocol';
import type { OptionSpecs, OptionValues } from '../command.ts';
import { UsageError } from '../usage-error.ts';

export const RUN_OPTIONS = {
  agent: { type: 'string', value: 'NAME', summary: 'registered agent that carries out the task' },
  runtime: {
    type: 'string',
    value: 'NAME',
    summary: 'agent program: claude-code, codex, gemini, opencode, pi, native, acp, command',
  },
  model: {
    type: 'string',
    value: 'MODEL',
    summary: 'model to ask for; default: that of the agent or of caisson.yaml',
  },
  mode: {
    type: 'string',
    value: 'MODE',
    choices: ['suggest', 'auto-edit', 'full-auto'],
    summary: 'autonomy; default auto-edit',
  },
  sandbox: {
    type: 'string',
    value: 'KIND',
    choices: ['bwrap', 'none'],
    summary:
      'none switches the sandbox off, and with it every limit on the network; it is recorded; default bwrap',
  },
  workspace: {
    type: 'string',
    value: 'KIND',
    choices: ['worktree', 'in-place', 'empty'],
    summary: 'where the agent works; default worktree in git',
  },
  base: { type: 'string', value: 'REF', summary: 'start from this commit instead of the present files' },
  timeout: {
    type: 'string',
    value: 'DURATION',
    summary: 'deadline of one attempt, for example 10m; default 30m',
  },
  'stall-timeout': {
    type: 'string',
    value: 'DURATION',
    summary: 'stop an attempt that shows no progress for so long; default never',
  },
  budget: { type: 'string', value: 'USD', summary: 'money the run may spend; default no cap' },
  'max-tokens': { type: 'string', value: 'N', summary: 'tokens the run may use' },
  'max-turns': { type: 'string', value: 'N', summary: 'model turns the run may take' },
  'max-tool-calls': { type: 'string', value: 'N', summary: 'tool calls the run may make' },
  memory: { type: 'string', value: 'SIZE', summary: 'memory limit, for example 2g; default 4g' },
  cpus: { type: 'string', value: 'N', summary: 'processor limit, for example 1.5; default none' },
  pids: { type: 'string', value: 'N', summary: 'limit on processes and threads; default 512' },
  network: {
    type: 'string',
    value: 'RULE',
    summary: 'none, hosts=a:443,b:443 or full; default: what caisson.yaml grants',
  },
  verify: {
    type: 'string',
    value: 'CMD',
    summary: 'command that checks the work; reported, never fails the run',
  },
  'verify-lens': {
    type: 'string',
    value: 'LENS',
    choices: ['gate', 'verify', 'clean-room'],
    summary:
      'clean-room checks the patch alone in a fresh checkout; verify checks the workspace as the agent left it; gate does that and fails the run; default clean-room, in place verify',
  },
  capability: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    summary: 'bundle laid over the workspace',
  },
  env: {
    type: 'string',
    multiple: true,
    value: 'KEY[=V]',
    summary: 'variable for the agent; without =V it is passed on',
  },
  'env-bundle': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    summary: 'registered env bundle',
  },
  secret: {
    type: 'string',
    multiple: true,
    value: 'NAME=REF',
    summary: 'secret variable by reference: env:, file:, exec:',
  },
  pipeline: { type: 'string', value: 'ID', summary: 'declared pipeline instead of the default one' },
  input: {
    type: 'string',
    multiple: true,
    value: 'KEY=PATH',
    summary: 'file that appears at inputs/KEY',
  },
  scope: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    summary: 'files the task is about; the agent is told, and changes to others are reported',
  },
  accept: { type: 'string', value: 'TEXT', summary: 'when the task is done, in words' },
  branch: { type: 'string', value: 'NAME', summary: 'leave the work on this new branch when the run ends' },
  priority: {
    type: 'string',
    value: '1-10',
    summary: '1 is first, 10 last; every 30 s of waiting raise it by one; default 5',
  },
  retries: { type: 'string', value: 'N', summary: 'further attempts for endings that may heal; default 2' },
  tool: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    summary:
      'coordination tool to offer: board_read, board_write, report_context, read_context, ask, dispatch, or *',
  },
  session: { type: 'string', value: 'NAME', summary: 'share board, context and budget with other runs' },
  'idempotency-key': { type: 'string', value: 'KEY', summary: 'the same key never starts a second run' },
  overflow: {
    type: 'string',
    value: 'HOW',
    choices: ['queue', 'reject'],
    summary: 'when all slots are taken; default queue',
  },
  apply: {
    type: 'boolean',
    summary: 'apply the patch to your files when the run finished and verify passed',
  },
  'allow-risky': {
    type: 'boolean',
    summary: 'let CI workflows, install scripts and their like onto --branch, into --apply and in place',
  },
  callback: {
    type: 'string',
    multiple: true,
    value: 'URL',
    summary: 'tell this address about the ending',
  },
  detach: { type: 'boolean', summary: 'run in the background and print the run id' },
} as const satisfies OptionSpecs;

export type RunValues = OptionValues<typeof RUN_OPTIONS>;

/** What was asked for on the command line; only what was really given is in it. */
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
    mode: values.mode,
    sandbox: values.sandbox as DispatchRequest['sandbox'],
    workspace: values.workspace as DispatchRequest['workspace'],
    base: values.base,
    timeoutMs: values.timeout === undefined ? undefined : parseDuration(values.timeout),
    stallTimeoutMs:
      values['stall-timeout'] === undefined ? undefined : parseDuration(values['stall-timeout']),
    budget: definedOnly({
      usd: readNumber('--budget', values.budget),
      tokens: readNumber('--max-tokens', values['max-tokens']),
      turns: readNumber('--max-turns', values['max-turns']),
      toolCalls: readNumber('--max-tool-calls', values['max-tool-calls']),
    }),
    limits: definedOnly({
      memory: values.memory === undefined ? undefined : parseSize(values.memory),
      cpus: readNumber('--cpus', values.cpus),
      pids: readNumber('--pids', values.pids),
    }),
    network: values.network === undefined ? undefined : readNetwork(values.network),
    tools: values.tool.length === 0 ? undefined : values.tool,
    verify: values.verify,
    verifyLens: values['verify-lens'] as DispatchRequest['verifyLens'],
    capabilities: values.capability,
    env: Object.fromEntries(values.env.map((word) => readVariable(word, env))),
    envBundles: values['env-bundle'],
    secrets: Object.fromEntries(values.secret.map((word) => readPair('--secret', 'NAME=REF', word))),
    pipeline: values.pipeline,
    inputs: readInputs(values.input),
    scope: values.scope,
    acceptance: values.accept,
    branch: values.branch,
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
  throw new UsageError(`--network does not know "${text}"`, {
    remedy: 'Use none, full, or hosts=a:443,b:443.',
  });
}

function readVariable(word: string, env: Readonly<Record<string, string | undefined>>): [string, string] {
  const at = word.indexOf('=');
  if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
  const value = env[word];
  if (value === undefined)
    throw new UsageError(`--env ${word}: the variable is not set here`, {
      remedy: `Give it a value: --env ${word}=…`,
    });
  return [word, value];
}

/** Of two files for one place one would be lost without a word. */
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

function definedOnly<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Partial<T>;
}
