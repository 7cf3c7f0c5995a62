/**
 * The schema of `caisson.yaml`: the reference for what a project may say, and the source of its documentation.
 * Every object is strict, so that a mistyped key is an error and never a setting that silently does not hold.
 */
import * as z from 'zod/mini';

import { LIFECYCLE_TYPES } from './events.ts';
import { BudgetCaps, HostRule, Limits, Mode } from './grant.ts';
import { findNearest } from './nearest-name.ts';
import { Block, PipelineId, ScriptLens } from './pipeline.ts';
import { PolicyRule } from './policy-rule.ts';
import { BUILT_IN_RUNTIMES } from './runtimes.ts';
import { parseDuration, parseSize } from './units.ts';

const described = <T extends z.ZodMiniType>(schema: T, text: string): T => schema.check(z.describe(text));
const optional = <T extends z.ZodMiniType>(schema: T, text: string) => z.optional(described(schema, text));

const text = (max = 4096) =>
  z.string().check(z.minLength(1), z.maxLength(max), z.regex(/^[^\0]*$/, 'must not contain a NUL character'));
const list = <T extends z.ZodMiniType>(item: T, max = 256) => z.array(item).check(z.maxLength(max));
const money = () => z.number().check(z.nonnegative());
const count = (min: number, max: number) => z.int().check(z.gte(min), z.lte(max));

/** A name that a person gives to an agent, bundle, capability or pipeline. */
export const ConfigName = z
  .string()
  .check(
    z.regex(/^[a-z0-9][a-z0-9._-]*$/, 'must be lowercase letters, digits, dots, dashes and underscores'),
    z.maxLength(128),
  );
const named = <T extends z.ZodMiniType>(item: T) => z.record(ConfigName, item);

/** Where a secret is found, never the secret: `env:NAME`, `file:PATH`, `exec:COMMAND` or another known scheme. */
export const SecretRef = z
  .string()
  .check(
    z.regex(
      /^[a-z][a-z0-9-]*:.+$/,
      'must say where the secret is (env:NAME, file:PATH or exec:COMMAND), not the secret itself',
    ),
    z.maxLength(4096),
  );

/** `30m`, `1h30m`, `500ms`, or a number of seconds; milliseconds once parsed. */
export const Duration = z.pipe(
  z.union([z.string(), z.number()], 'expected a duration, for example 90s or 1h30m'),
  withUnits(parseDuration),
);
/** `4g`, `512m`, or a number of bytes; bytes once parsed. */
export const Size = z.pipe(
  z.union([z.string(), z.number()], 'expected a size, for example 512m or 4g'),
  withUnits(parseSize),
);

/** Spoken to by HTTP, with or without TLS. */
const address = () =>
  z.url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' });

const variables = () => z.record(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), z.string());

export const RuntimeConfig = z.strictObject({
  bin: optional(
    text(),
    'Program to start: a name looked up in PATH, or a path. Default: what discovery finds.',
  ),
  endpoint: optional(
    address(),
    'Base URL of the model service; reached through the broker, also without any granted host.',
  ),
  apiKey: optional(
    SecretRef,
    'Where the model key is, for example env:OPENAI_API_KEY. The agent never sees the key.',
  ),
  model: optional(
    z.string().check(z.maxLength(256)),
    'Model to ask for when neither a flag nor the agent names one.',
  ),
  adapter: optional(
    text(),
    'Your own adapter, a JavaScript file relative to this one; hashed into the manifest.',
  ),
  login: optional(
    z.enum(['mount']),
    "mount: lend the program's own log-in files read-only instead of a key.",
  ),
  settings: optional(
    z.record(z.string(), z.unknown()),
    "Settings in the program's own words, laid into its private HOME.",
  ),
  env: optional(variables(), 'Extra environment of the program; not for secrets.'),
});
export type RuntimeConfig = z.infer<typeof RuntimeConfig>;

export const VerifyConfig = z.strictObject({
  command: described(text(65_536), 'Shell command that decides whether the work holds.'),
  timeout: optional(Duration, 'Longest time it may take. Default 10m.'),
  lens: optional(
    ScriptLens,
    'gate fails the run, verify reports, clean-room tries the patch on a fresh checkout. Default verify.',
  ),
});

/** The part of a grant that an agent may ask for by default; the ceiling and the caller's own wishes still bind. */
export const DefaultGrant = z.strictObject({
  hosts: optional(list(HostRule), 'host:port pairs that the agent reaches unless the caller says otherwise.'),
  limits: optional(z.strictObject(Limits.shape), 'Limits of its sandbox in bytes, cores and processes.'),
  budget: optional(z.strictObject(BudgetCaps.shape), 'What one run of it may spend.'),
  depth: optional(count(0, 16), 'How deep it may dispatch other agents.'),
});
export type DefaultGrant = z.infer<typeof DefaultGrant>;

const FragmentName = z.string().check(z.regex(/^[a-z][a-z0-9_-]*$/), z.maxLength(64));

export const AgentConfig = z.strictObject({
  runtime: optional(text(128), 'Runtime that carries out the work.'),
  model: optional(
    z.string().check(z.maxLength(256)),
    'Model of this agent: fast, standard, max, or a native name.',
  ),
  mode: optional(Mode, 'Autonomy of this agent.'),
  systemPrompt: optional(text(1_048_576), 'Text put before every task.'),
  userPrompt: optional(text(1_048_576), 'Template of the task; {{task}} stands for what the caller wrote.'),
  capabilities: optional(list(ConfigName), 'Capabilities laid over the workspace, in order.'),
  envs: optional(list(ConfigName), 'Env bundles merged into the environment, in order.'),
  pipeline: optional(text(128), 'Pipeline to run instead of the default one.'),
  verify: optional(VerifyConfig, 'Command that checks the result.'),
  tools: optional(
    list(text(100)),
    'Coordination tools offered to the agent, for example board_read, ask, dispatch.',
  ),
  timeout: optional(Duration, 'Deadline of one attempt.'),
  maxTokens: optional(count(1, 10_000_000), 'Longest answer of the model, where the runtime takes that.'),
  temperature: optional(
    z.number().check(z.gte(0), z.lte(2)),
    'Sampling temperature, where the runtime takes that.',
  ),
  fragments: optional(
    z.record(FragmentName, z.string().check(z.maxLength(1_048_576))),
    'Texts that {{name}} in the prompts stands for.',
  ),
  grant: optional(DefaultGrant, 'What the agent is granted unless the caller says otherwise.'),
});
export type AgentConfig = z.infer<typeof AgentConfig>;

export const EnvBundleConfig = z.strictObject({
  values: optional(variables(), 'Plain values.'),
  secrets: optional(
    z.record(z.string(), SecretRef),
    'Variables whose value is fetched when a run is prepared.',
  ),
});
export type EnvBundleConfig = z.infer<typeof EnvBundleConfig>;

export const PipelineConfig = z.strictObject({
  blocks: described(
    list(Block, 64).check(z.minLength(1)),
    'Steps in order: agent, script, capture. The seal follows by itself.',
  ),
});
export type PipelineConfig = z.infer<typeof PipelineConfig>;

export const WorkspaceConfig = z.strictObject({
  include: optional(
    list(text()),
    'Ignored files and folders that a worktree needs, for example node_modules.',
  ),
  setup: optional(text(65_536), 'Shell command run in the sandbox before the agent.'),
  setupTimeout: optional(Duration, 'Longest time the setup may take. Default 2m.'),
});

export const LimitsConfig = z.strictObject({
  concurrency: optional(
    count(1, 1024),
    'Runs at the same time in this project, across all processes. Default: cores, at least 2.',
  ),
  queue: optional(count(0, 1_000_000), 'Runs that may wait; more are refused. Default 1000.'),
  timeout: optional(Duration, 'Deadline of one attempt. Default 30m.'),
  grace: optional(Duration, 'From SIGTERM to SIGKILL. Default 5s.'),
  stallTimeout: optional(
    Duration,
    'End an attempt that has shown no sign of work for this long. Default: never.',
  ),
  memory: optional(Size, 'Memory of one sandbox. Default 4g.'),
  cpus: optional(
    z.number().check(z.gt(0), z.lte(4096)),
    'Processor cores of one sandbox, fractions allowed. Default: no limit.',
  ),
  pids: optional(count(1, 4_194_304), 'Processes and threads of one sandbox. Default 512.'),
  disk: optional(
    Size,
    'Bytes that a workspace may grow by, and never more than nine tenths of what was free on its disk. Default 10g.',
  ),
  captureFile: optional(
    Size,
    'Size of the largest file that is taken into a patch or checkpoint; larger ones are kept in the trash and named. Default 100m.',
  ),
  capture: optional(
    Size,
    'Size of all changed files together in one patch or checkpoint; the largest are left out first. Default 256m.',
  ),
  spool: optional(Size, 'Bytes kept of what an agent prints. Default 64m.'),
  retries: optional(count(0, 100), 'Attempts after the first, for endings that may heal. Default 2.'),
  depth: optional(count(0, 16), 'How deep agents may dispatch agents. Default 2.'),
});

export const BudgetConfig = z.strictObject({
  perRunUsd: optional(money(), 'Money one run may spend.'),
  perSessionUsd: optional(money(), 'Money all runs of a session may spend.'),
  perDayUsd: optional(money(), 'Money this project may spend in a day (UTC).'),
  perRunTokens: optional(count(0, Number.MAX_SAFE_INTEGER), 'Tokens one run may use, in and out.'),
  perRunTurns: optional(count(0, 1_000_000), 'Model turns of one run.'),
  perRunToolCalls: optional(count(0, 1_000_000), 'Tool calls of one run.'),
  allowUnknownCost: optional(
    z.boolean(),
    'Let a model without a known price run under a money cap. Default false.',
  ),
});

export const ServiceConfig = z.strictObject({
  endpoint: described(address(), 'Base URL of the service. Its host:port must be granted, too.'),
  apiKey: described(SecretRef, 'Where its key is. The agent never sees the key.'),
  header: optional(
    z.string().check(z.regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'must be the name of a header'), z.maxLength(128)),
    'Header that carries the key as it is. Default: Authorization, with Bearer.',
  ),
});

export const NetworkConfig = z.strictObject({
  hosts: optional(list(HostRule), 'host:port pairs that a run may reach. Default: none.'),
  services: optional(
    named(ServiceConfig),
    'Services reached with a key that the broker puts in; an agent finds CAISSON_SERVICE_<NAME>_URL and _KEY.',
  ),
});

export const PolicyConfig = z.strictObject({
  ceiling: optional(Mode, 'Highest mode any run may have. Default full-auto.'),
  rules: optional(list(PolicyRule), 'Paths and commands with rules of their own.'),
});

export const CallbackConfig = z.strictObject({
  url: described(address(), 'Address that is told.'),
  key: optional(SecretRef, 'Where the signing key is; without one the signature header is left out.'),
  authorization: optional(SecretRef, 'Where a bearer token for the endpoint is.'),
  when: optional(
    list(z.enum(LIFECYCLE_TYPES)),
    'Event types to send, for example dispatch.finished. Default: the terminal ones.',
  ),
});

export const QuestionsConfig = z.strictObject({
  deadline: optional(Duration, 'How long a question of an agent stays open. Default 7d.'),
  approvalDeadline: optional(
    Duration,
    'How long a held tool call waits for an answer before it is denied. Default 5m.',
  ),
});

export const S3Config = z.strictObject({
  bucket: described(text(255), 'Bucket that mirrors the blobs.'),
  prefix: optional(text(1024), 'Key prefix inside the bucket.'),
  region: optional(text(64), 'Region of the bucket.'),
  endpoint: optional(address(), 'Another S3-compatible service.'),
});

export const StoreConfig = z.strictObject({
  s3: optional(S3Config, 'Keep blobs in S3 as well as on this machine.'),
});

export const SandboxConfig = z.strictObject({
  toolchains: optional(list(text()), 'Folders under HOME that the sandbox may read, for example ~/.cargo.'),
  home: optional(Size, "Size of the sandbox's private HOME. Default 1g."),
  tmp: optional(Size, "Size of the sandbox's private TMPDIR. Default 1g."),
});

/** `caisson.yaml`, as a person writes it (`z.input`) and as it is once read (`z.output`). */
export const ConfigFile = z.strictObject({
  runtime: optional(text(128), 'Runtime used when neither a flag nor an agent names one.'),
  mode: optional(Mode, 'Mode used when neither a flag nor an agent names one. Default auto-edit.'),
  runtimes: optional(
    named(RuntimeConfig).check(refuseUnknownRuntimes),
    'Agent programs and how each reaches its model.',
  ),
  agents: optional(named(AgentConfig), 'Agent definitions by name.'),
  envs: optional(named(EnvBundleConfig), 'Env bundles by name.'),
  pipelines: optional(z.record(PipelineId, PipelineConfig), 'Pipelines by <pack>.<name>.'),
  capabilities: optional(named(text()), 'Capability folders by name, relative to this file.'),
  workspace: optional(WorkspaceConfig, 'What a fresh worktree needs.'),
  limits: optional(LimitsConfig, 'Caps on runs. A limit set here that cannot be enforced refuses the run.'),
  budget: optional(BudgetConfig, 'Caps on spending.'),
  network: optional(NetworkConfig, 'What runs may reach.'),
  policy: optional(PolicyConfig, 'The law of this project.'),
  callbacks: optional(list(CallbackConfig, 32), 'Who is told about endings.'),
  questions: optional(QuestionsConfig, 'Deadlines of questions and approvals.'),
  store: optional(StoreConfig, 'Where blobs are kept.'),
  sandbox: optional(SandboxConfig, 'What the sandbox shows.'),
  state: optional(text(), 'State folder, relative to this file. Default .caisson.'),
});
export type UserConfig = z.input<typeof ConfigFile>;
export type ConfigFile = z.output<typeof ConfigFile>;

/** A mistyped name would be a runtime that nobody asks for, and its settings would silently not hold. */
function refuseUnknownRuntimes({ value, issues }: z.core.ParsePayload<Record<string, RuntimeConfig>>): void {
  for (const [name, { adapter, settings }] of Object.entries(value)) {
    const isKnown = (BUILT_IN_RUNTIMES as readonly string[]).includes(name);
    if (isKnown || adapter !== undefined || settings?.['protocol'] !== undefined) continue;
    const nearest = findNearest(name, BUILT_IN_RUNTIMES);
    const hint = nearest === null ? `Known: ${BUILT_IN_RUNTIMES.join(', ')}` : `Did you mean "${nearest}"?`;
    const message = `no such runtime; one of your own needs an adapter or settings.protocol. ${hint}`;
    issues.push({ code: 'custom', path: [name], input: name, message });
  }
}

function withUnits(parse: (input: string | number) => number) {
  return z.transform<string | number, number>((input, context) => {
    try {
      return parse(input);
    } catch (error) {
      context.issues.push({
        code: 'custom',
        message: error instanceof Error ? error.message : String(error),
        input,
      });
      return z.NEVER;
    }
  });
}

/** Everything the schema has against a value, in words. The words are loaded only when there is something to say. */
export async function explainConfigIssues(value: unknown): Promise<readonly ConfigIssue[]> {
  const { default: english } = await import('zod/v4/locales/en.js');
  return ConfigFile.safeParse(value, { error: english().localeError }).error?.issues ?? [];
}
export type ConfigIssue = z.core.$ZodIssue;
