/** Turns the resolved configuration into what dispatch needs; it decides nothing. */
import { dirname } from 'node:path';
import { definedOnly, type Limits } from '@caisson/protocol';
import type { ResolvedConfig, SettingKey } from '../config/index.ts';
import type { DispatchSettings } from '../admission/index.ts';
import { createShortMemory } from '../platform/index.ts';
import { bundlePath } from './bundle-path.ts';
import { listPrivatePaths, makePrivateFolders } from './private-paths.ts';
import { findInsidePrograms } from './inside-programs.ts';

const PASSED_FROM_HOST = [
  ...['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'USER', 'LOGNAME'],
  // Where toolchains are, and which version of them is chosen.
  ...['JAVA_HOME', 'GOROOT', 'RUSTUP_HOME', 'RUSTUP_TOOLCHAIN', 'PYENV_ROOT', 'PYENV_VERSION'],
  ...['VOLTA_HOME', 'ASDF_DATA_DIR', 'MISE_DATA_DIR', 'SDKMAN_DIR'],
];
const HEARTBEAT_MS = 10_000;

export function createDispatchSettings(
  config: ResolvedConfig,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): DispatchSettings {
  return {
    projectRoot: config.projectRoot,
    stateDir: config.stateDir,
    cwd,
    home: config.folders.home,
    userState: config.folders.state,
    path: searchPath(env),
    variables: env,
    hostEnv: pick(env, PASSED_FROM_HOST),
    traceparent: env['TRACEPARENT'],
    defaultRuntime: config.runtime,
    defaultMode: config.mode,
    ceiling: config.policy.ceiling,
    rules: config.policy.rules.map((rule) => ({ ...rule })),
    hasAllRules: config.unread === undefined,
    hostFiles: Object.values(config.runtimes).flatMap(({ adapter, bin }) =>
      [adapter, ...(bin?.includes('/') === true ? [bin] : [])].filter((path) => path !== undefined),
    ),
    hostCommands: findExecReferences(config),
    heartbeatMs: heartbeatMs(env),
    ...limitSettings(config),
    hosts: config.network.hosts,
    services: config.network.services,
    git: gitSettings(config, env),
    workspaceInclude: config.workspace.include,
    bring: config.workspace.bring,
    detectsFolders: config.workspace.detect,
    setup: config.workspace.setup,
    setupTimeoutMs: config.workspace.setupTimeoutMs,
    questionDeadlineMs: config.questions.deadlineMs,
    toolchains: config.sandbox.toolchains,
    privatePaths: createPrivatePaths(config),
    homeBytes: config.sandbox.homeBytes,
    tmpBytes: config.sandbox.tmpBytes,
    node: process.execPath,
    bundles: dirname(bundlePath('worker.mjs')),
    programs: findInsidePrograms(process.execPath),
  };
}

/** For all callers of a daemon: each has settings of its own. */
const recallPrivatePaths = createShortMemory<readonly string[]>();

function createPrivatePaths(config: ResolvedConfig): DispatchSettings['privatePaths'] {
  const { folders, projectRoot, stateDir, keys, evidence } = config;
  const key = JSON.stringify([folders, projectRoot, stateDir, keys, evidence]);
  return (forInPlace = false) => {
    if (!forInPlace) return recallPrivatePaths(key, () => listPrivatePaths(config));
    makePrivateFolders(config);
    return listPrivatePaths(config);
  };
}

function limitSettings({ limits, budget, sourceOf }: ResolvedConfig) {
  return {
    concurrency: limits.concurrency,
    queueLimit: limits.queue,
    timeoutMs: limits.timeoutMs,
    graceMs: limits.graceMs,
    stallTimeoutMs: limits.stallTimeoutMs,
    limits: withoutNull({
      memory: limits.memoryBytes,
      cpus: limits.cpus,
      pids: limits.pids,
      disk: limits.diskBytes,
    }),
    chosenLimits: (['memory', 'cpus', 'pids', 'disk'] as const).filter(
      (key) => sourceOf(`limits.${key}` as SettingKey) !== 'default',
    ),
    captureLimits: { maxFileBytes: limits.captureFileBytes, maxTotalBytes: limits.captureBytes },
    spoolBytes: limits.spoolBytes,
    retries: limits.retries,
    failedAnswers: limits.failedAnswers,
    unreachableMs: limits.unreachableMs,
    adoptWithinMs: limits.adoptWithinMs,
    depth: limits.depth,
    budget: withoutNull({
      usd: budget.perRunUsd,
      tokens: budget.perRunTokens,
      turns: budget.perRunTurns,
      toolCalls: budget.perRunToolCalls,
    }),
  };
}

function gitSettings(
  { git: { url, token, knownHosts, identity, ...limits }, sourceOf }: ResolvedConfig,
  env: Readonly<Record<string, string | undefined>>,
): DispatchSettings['git'] {
  const named = { url, token, knownHosts, identity, agentSocket: env['SSH_AUTH_SOCK'] };
  return { ...limits, isUrlOfProject: sourceOf('git.url') === 'file', ...definedOnly(mapNull(named)) };
}

const mapNull = <T extends Record<string, string | null | undefined>>(value: T) =>
  Object.fromEntries(Object.entries(value).map(([key, text]) => [key, text ?? undefined])) as {
    [K in keyof T]: string | undefined;
  };

/** Where programs are looked for. */
export function searchPath(env: Readonly<Record<string, string | undefined>>): string {
  return env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';
}

/** Every `exec:` anywhere in the settings: a new key counts, too. */
function findExecReferences(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('exec:') ? [value.slice('exec:'.length)] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(findExecReferences);
}

/** Tests may ask for a faster heartbeat; everyone else gets the protocol's ten seconds. */
function heartbeatMs(env: Readonly<Record<string, string | undefined>>): number {
  const asked = Number(env['CAISSON_HEARTBEAT_MS']);
  return Number.isInteger(asked) && asked >= 50 ? asked : HEARTBEAT_MS;
}

function pick(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

type NonNullFields<T> = { [K in keyof T]?: Exclude<T[K], null> };

function withoutNull<T extends Record<string, number | null>>(value: T): NonNullFields<T> & Limits {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null)) as NonNullFields<T> &
    Limits;
}
