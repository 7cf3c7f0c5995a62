/**
 * The schema of `caisson.yaml`: the reference of all settings, and the source of their documentation. Every object is
 * strict, so that a mistyped key is an error and never a setting that silently has no effect.
 */
import * as z from 'zod/mini';
import { AgentConfig, EnvBundleConfig, PipelineConfig, RuntimeConfig } from './agent-config.ts';
import {
  address,
  count,
  described,
  Duration,
  list,
  named,
  durationOrZero,
  optional,
  SecretRef,
  Memory,
  Size,
  text,
} from './config-values.ts';
import { ApiConfig } from './api-config.ts';
import { BudgetConfig } from './budget-config.ts';
import { CallbackConfig } from './callback-config.ts';
import { GitConfig } from './git-config.ts';
import { HostRule, Mode } from './grant.ts';
import { findNearest } from './nearest-name.ts';
import { PipelineId } from './pipeline.ts';
import { WrittenRule } from './policy-rule.ts';
import { EvidenceConfig, KeysConfig, StoreConfig, TelemetryConfig } from './record-config.ts';
import { ScheduleConfig, SenseConfig, WorkflowConfig } from './resident-config.ts';
import { BUILT_IN_RUNTIMES } from './runtime-descriptors.ts';

export * from './agent-config.ts';
export * from './api-config.ts';
export * from './budget-config.ts';
export * from './callback-config.ts';
export * from './git-config.ts';
export * from './record-config.ts';
export { ConfigName, Duration, SecretRef, Size, trustMarkOf, type TrustMark } from './config-values.ts';

export const WorkspaceConfig = z.strictObject({
  include: optional(
    'ask',
    list(text()),
    'Ignored files and folders that are copied into a worktree, for example .env.test.',
  ),
  bring: optional(
    'ask',
    list(text()),
    'Ignored folders that a run sees as they are, each with a private overlay for what it writes, beside those that are detected; a file is copied. Also --bring.',
  ),
  detect: optional(
    'harmless',
    z.boolean(),
    'Whether ignored folders that tools need (node_modules, .venv, target and the like) and their caches in HOME are brought. Default true.',
  ),
  setup: optional('ask', text(65_536), 'Shell command run in the sandbox before the agent.'),
  setupTimeout: optional('may-lower', Duration, 'Longest time the setup may take. Default 2m.'),
});

export const LimitsConfig = z.strictObject({
  concurrency: optional(
    'may-lower',
    count(1, 1024),
    'Runs at the same time in this project, across all processes. Default: cores, at least 2.',
  ),
  queue: optional('may-lower', count(0, 1_000_000), 'Runs that may wait; more are refused. Default 1000.'),
  timeout: optional('may-lower', Duration, 'Deadline of one attempt. Default 30m.'),
  grace: optional('may-lower', Duration, 'From SIGTERM to SIGKILL. Default 5s.'),
  stallTimeout: optional(
    'may-lower',
    Duration,
    'End an attempt that has shown no sign of work for this long. Default: never.',
  ),
  memory: optional('may-lower', Memory, 'Memory of one sandbox. Default 4g.'),
  cpus: optional(
    'may-lower',
    z.number().check(z.gt(0), z.lte(4096)),
    'Processor cores of one sandbox, fractions allowed. Default: no limit.',
  ),
  pids: optional('may-lower', count(1, 4_194_304), 'Processes and threads of one sandbox. Default 512.'),
  disk: optional(
    'may-lower',
    Size,
    'Bytes that a workspace may grow by, and never more than nine tenths of what was free on its disk. Default 10g.',
  ),
  captureFile: optional(
    'may-lower',
    Size,
    'Size of the largest file in a patch or checkpoint; larger ones are held back in the state folder and named. Default 100m.',
  ),
  capture: optional(
    'may-lower',
    Size,
    'Size of all changed files together in one patch or checkpoint; the largest are left out first. Also of the commits that are kept of repositories inside the workspace. Default 256m.',
  ),
  spool: optional('may-lower', Size, 'Bytes kept of what an agent prints. Default 64m.'),
  trash: optional('ask', Size, 'Ignored files kept in the trash; the oldest go first. Default 1g.'),
  trashAge: optional('ask', Duration, 'How long they are kept there. Default 1d.'),
  retries: optional(
    'may-lower',
    count(0, 100),
    'Attempts after the first, for endings that may pass. Default 2.',
  ),
  unreachable: optional(
    'may-lower',
    Duration,
    'A run whose model cannot be connected to for this long fails with that reason. Default 45s.',
  ),
  adoptWithin: optional(
    'may-lower',
    durationOrZero(),
    'How long an agent of a daemon goes on when the daemon is gone, until the next daemon adopts it. 0s: it ends with the daemon. Default 2m.',
  ),
  failedAnswers: optional(
    'may-lower',
    count(1, 100_000),
    'Requests to the model that may fail one after the other before the run is stopped: its agent would ask without end. Default 50.',
  ),
  depth: optional('may-lower', count(0, 16), 'How deep agents may dispatch agents. Default 2.'),
});

export const ServiceConfig = z.strictObject({
  endpoint: described('ask', address(), 'Base URL of the service. Its host:port must be granted, too.'),
  apiKey: described('ask', SecretRef, 'Where its key is. The agent never sees the key.'),
  header: optional(
    'ask',
    z.string().check(z.regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'must be the name of a header'), z.maxLength(128)),
    'Header that carries the key as it is. Default: Authorization, with Bearer.',
  ),
});

export const NetworkConfig = z.strictObject({
  hosts: optional(
    'ask',
    list(HostRule),
    'Network addresses (host:port) that a run may reach. Default: none.',
  ),
  services: optional(
    'ask',
    named(ServiceConfig),
    'Services reached with a key that the broker adds; an agent finds CAISSON_SERVICE_<NAME>_URL and _KEY.',
  ),
});

export const PolicyConfig = z.strictObject({
  ceiling: optional('may-lower', Mode, 'Highest mode any run may have. Default full-auto.'),
  rules: optional('harmless', list(WrittenRule), 'Paths and commands with their own rules.'),
});

export const QuestionsConfig = z.strictObject({
  deadline: optional('harmless', Duration, 'How long a question of an agent stays open. Default 7d.'),
  approvalDeadline: optional(
    'harmless',
    Duration,
    'How long a tool call waits for an answer before it is denied. Default 5m.',
  ),
});

export const SandboxConfig = z.strictObject({
  toolchains: optional(
    'ask',
    list(text()),
    'Folders under HOME that the sandbox may read, for example ~/.cargo.',
  ),
  home: optional('may-lower', Size, "Size of the sandbox's private HOME. Default 1g."),
  tmp: optional('may-lower', Size, "Size of the sandbox's private TMPDIR. Default 1g."),
});

/** `caisson.yaml`, as a person writes it (`z.input`) and as it is parsed (`z.output`). */
export const ConfigFile = z.strictObject({
  runtime: optional('harmless', text(128), 'Runtime used when neither a flag nor an agent names one.'),
  mode: optional(
    'may-lower',
    Mode,
    'Mode used when neither a flag nor an agent names one. Default auto-edit.',
  ),
  runtimes: optional(
    'inside',
    named(RuntimeConfig).check(refuseUnknownRuntimes),
    'Agent programs and how each reaches its model.',
  ),
  agents: optional('inside', named(AgentConfig), 'Agent definitions by name.'),
  envs: optional('inside', named(EnvBundleConfig), 'Env bundles by name.'),
  pipelines: optional('ask', z.record(PipelineId, PipelineConfig), 'Pipelines by <pack>.<name>.'),
  capabilities: optional('ask', named(text()), 'Capability folders by name, relative to this file.'),
  workspace: optional('inside', WorkspaceConfig, 'What a fresh worktree needs.'),
  limits: optional(
    'inside',
    LimitsConfig,
    'Caps on runs. A limit set here that cannot be enforced refuses the run.',
  ),
  budget: optional('inside', BudgetConfig, 'Caps on spending.'),
  git: optional('inside', GitConfig, 'Remote repositories: which one, and how it is reached.'),
  network: optional('inside', NetworkConfig, 'What runs may reach.'),
  policy: optional('inside', PolicyConfig, "The project's policy."),
  callbacks: optional('ask', list(CallbackConfig, 32), 'Addresses that get the endings of runs.'),
  questions: optional('inside', QuestionsConfig, 'Deadlines of questions and approvals.'),
  store: optional('inside', StoreConfig, 'Where blobs are kept.'),
  sandbox: optional('inside', SandboxConfig, 'What the sandbox shows.'),
  keys: optional('inside', KeysConfig, 'The key that signs the evidence.'),
  evidence: optional('inside', EvidenceConfig, 'A witness that gets every seal.'),
  telemetry: optional('inside', TelemetryConfig, 'Who gets spans and metrics of runs.'),
  senses: optional(
    'inside',
    named(SenseConfig),
    'Code of yours that watches something, in a sandbox (guide: residents).',
  ),
  workflows: optional('inside', named(WorkflowConfig), 'Code of yours that acts on signals, in a sandbox.'),
  schedules: optional('inside', named(ScheduleConfig), 'Tasks that a daemon starts at their times.'),
  api: optional('inside', ApiConfig, 'Where daemons listen for HTTP. Only in your own file.'),
  state: optional('ask', text(), 'State folder, relative to this file. Default .caisson.'),
});
export type ConfigFile = z.output<typeof ConfigFile>;

/** A mistyped name would be an unused runtime, and its settings would silently have no effect. */
function refuseUnknownRuntimes({ value, issues }: z.core.ParsePayload<Record<string, RuntimeConfig>>): void {
  for (const [name, { adapter, settings }] of Object.entries(value)) {
    const isKnown = BUILT_IN_RUNTIMES.includes(name);
    if (isKnown || adapter !== undefined || settings?.['protocol'] !== undefined) continue;
    const nearest = findNearest(name, BUILT_IN_RUNTIMES);
    const hint = nearest === null ? `Known: ${BUILT_IN_RUNTIMES.join(', ')}` : `Did you mean "${nearest}"?`;
    const message = `no such runtime; your own runtime needs an adapter or settings.protocol. ${hint}`;
    issues.push({ code: 'custom', path: [name], input: name, message });
  }
}

/** Every problem of a value, in words that are loaded only when there is one. */
export async function explainConfigIssues(value: unknown): Promise<readonly ConfigIssue[]> {
  const { default: english } = await import('zod/v4/locales/en.js');
  return ConfigFile.safeParse(value, { error: english().localeError }).error?.issues ?? [];
}
export type ConfigIssue = z.core.$ZodIssue;
