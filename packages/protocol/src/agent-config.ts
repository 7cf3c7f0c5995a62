/** Agents in `caisson.yaml`: their programs, definitions, environments and pipelines. */
import * as z from 'zod/mini';

import {
  address,
  ConfigName,
  count,
  described,
  Duration,
  list,
  optional,
  SecretRef,
  text,
  variables,
} from './config-values.ts';
import { BudgetCaps, HostRule, Limits, Mode } from './grant.ts';
import { Block, ScriptLens } from './pipeline.ts';

export const RuntimeConfig = z.strictObject({
  bin: optional(
    'ask',
    text(),
    'Program to start: a name looked up in PATH, or a path. Default: what discovery finds.',
  ),
  endpoint: optional(
    'ask',
    address(),
    'Base URL of the model service; reached through the broker, also without any granted host.',
  ),
  apiKey: optional(
    'ask',
    SecretRef,
    'Where the model key is, for example env:OPENAI_API_KEY. The agent never sees the key.',
  ),
  model: optional(
    'harmless',
    z.string().check(z.maxLength(256)),
    'Model to ask for when neither a flag nor the agent names one.',
  ),
  adapter: optional(
    'ask',
    text(),
    'Your own adapter, a JavaScript file relative to this one; hashed into the manifest.',
  ),
  login: optional(
    'ask',
    z.enum(['mount']),
    'mount: use your own log-in with the program instead of a key. The agent can then read its token. Only in your own config.yaml; --login and a yes on a terminal write it there.',
  ),
  settings: optional(
    'ask',
    z.record(z.string(), z.unknown()),
    "Settings in the program's own format, written to its private HOME.",
  ),
  env: optional('ask', variables(), 'Extra environment of the program; not for secrets.'),
  projectServers: optional(
    'ask',
    z.boolean(),
    'true: start the MCP servers that the repository names in its settings for this program, inside the sandbox; every call to them passes the gate. Needs trust in the repository. Default false.',
  ),
});
export type RuntimeConfig = z.infer<typeof RuntimeConfig>;

export const VerifyConfig = z.strictObject({
  command: described('ask', text(65_536), 'Shell command that decides whether the work passes.'),
  timeout: optional('ask', Duration, 'Longest time it may take. Default 10m.'),
  lens: optional(
    'ask',
    ScriptLens,
    'clean-room reports on the patch alone, in a fresh checkout; verify reports on the workspace as the agent left it; gate does that, too, and fails the run. Default clean-room, in place verify.',
  ),
});

/** The part of a grant that an agent may ask for by default; the ceiling and the caller's options still limit it. */
export const DefaultGrant = z.strictObject({
  hosts: optional(
    'ask',
    list(HostRule),
    'host:port pairs that the agent reaches unless the caller overrides them.',
  ),
  limits: optional(
    'may-lower',
    z.strictObject(Limits.shape),
    'Limits of its sandbox in bytes, cores and processes.',
  ),
  budget: optional('may-lower', z.strictObject(BudgetCaps.shape), 'What one run of it may spend.'),
  depth: optional('may-lower', count(0, 16), 'How deep it may dispatch other agents.'),
});
export type DefaultGrant = z.infer<typeof DefaultGrant>;

const FragmentName = z.string().check(z.regex(/^[a-z][a-z0-9_-]*$/), z.maxLength(64));

export const AgentConfig = z.strictObject({
  runtime: optional('harmless', text(128), 'Runtime that carries out the work.'),
  model: optional(
    'harmless',
    z.string().check(z.maxLength(256)),
    'Model of this agent: fast, standard, max, or a native name.',
  ),
  mode: optional('may-lower', Mode, 'Autonomy of this agent.'),
  systemPrompt: optional('harmless', text(1_048_576), 'Text put before every task.'),
  userPrompt: optional(
    'harmless',
    text(1_048_576),
    'Template of the task; {{task}} is replaced by what the caller wrote.',
  ),
  capabilities: optional('harmless', list(ConfigName), 'Capabilities copied over the workspace, in order.'),
  envs: optional('ask', list(ConfigName), 'Env bundles merged into the environment, in order.'),
  pipeline: optional('harmless', text(128), 'Pipeline to run instead of the default one.'),
  verify: optional('ask', VerifyConfig, 'Command that checks the result.'),
  tools: optional(
    'harmless',
    list(text(100)),
    'Coordination tools offered to the agent, for example board_read, ask, dispatch.',
  ),
  timeout: optional('may-lower', Duration, 'Deadline of one attempt.'),
  maxTokens: optional(
    'harmless',
    count(1, 10_000_000),
    'Longest answer of the model, if the runtime supports it.',
  ),
  temperature: optional(
    'harmless',
    z.number().check(z.gte(0), z.lte(2)),
    'Sampling temperature, if the runtime supports it.',
  ),
  fragments: optional(
    'harmless',
    z.record(FragmentName, z.string().check(z.maxLength(1_048_576))),
    'Texts that replace {{name}} in the prompts.',
  ),
  grant: optional('inside', DefaultGrant, 'What the agent is granted unless the caller overrides it.'),
});
export type AgentConfig = z.infer<typeof AgentConfig>;

export const EnvBundleConfig = z.strictObject({
  values: optional('ask', variables(), 'Plain values.'),
  secrets: optional(
    'ask',
    z.record(z.string(), SecretRef),
    'Variables whose value is fetched when a run is prepared.',
  ),
});
export type EnvBundleConfig = z.infer<typeof EnvBundleConfig>;

export const PipelineConfig = z.strictObject({
  blocks: described(
    'ask',
    list(Block, 64).check(z.minLength(1)),
    'Steps in order: agent, script, capture. The run is sealed by itself.',
  ),
});
export type PipelineConfig = z.infer<typeof PipelineConfig>;
