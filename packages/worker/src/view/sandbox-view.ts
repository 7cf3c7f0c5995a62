/**
 * What the agent, a setup script or a verify command sees: one place decides it for all of them. Ground builds the
 * sandbox; this file only describes its content.
 */
import { MARKER_NAME, type SandboxSpec } from '@caisson/ground';
import type { Bind, Job } from '@caisson/protocol';
import { NO_RETRIES, proxyVariables, QUIET_PROGRAMS } from './inside-variables.ts';
import { findNestedControls, listHeldPaths } from './nested-controls.ts';
import type { OpenNetwork } from '../network/index.ts';
import type { AgentFile, ProjectMask } from '../runtimes/index.ts';

export type SandboxPurpose = 'agent' | 'setup' | 'script' | 'clean-room';

/** Where the run's sockets are, inside. */
export const INSIDE = {
  run: '/run/caisson',
  brokerSocket: '/run/caisson/net.sock',
  toolSocket: '/run/caisson/tools.sock',
  relayPort: 8118,
} as const;

export interface ViewOptions {
  readonly purpose: SandboxPurpose;
  /** The attempt's way out. */
  readonly network: OpenNetwork | null;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files?: readonly AgentFile[];
  readonly stdin?: 'closed' | 'pipe';
  readonly stdout?: 'pipe' | 'file';
  /** A socket of the worker that is visible inside for tools. */
  readonly toolSocket?: string;
  /** What the rules of caisson.yaml hide or protect from the agent, as seen inside. */
  readonly ruled?:
    | Readonly<Record<'hidden' | 'readOnly' | 'outside' | 'unbrought', readonly string[]>>
    | undefined;
  /** Folders of HOME that outlive the attempt. */
  readonly kept?: readonly Bind[];
  /** Folders in which the agent program would obey the repository. */
  readonly masks?: readonly ProjectMask[];
}

/** The way out, for a purpose that may use it. */
function findNetwork({ network, purpose }: ViewOptions): OpenNetwork | null {
  const isForIt = purpose === 'agent' || (purpose === 'setup' && network?.offersProxy === true);
  return isForIt ? network : null;
}

/** Whether its processes have the host's own loopback, where the broker listens by itself and no relay is needed. */
function sharesHostNetwork(job: Job, purpose: SandboxPurpose): boolean {
  if (job.grant.sandbox === 'none') return true;
  return job.grant.hosts.includes('*') && (purpose === 'agent' || purpose === 'setup');
}

/** The port on 127.0.0.1 of broker and proxy, inside. */
export function brokerPort(job: Job, { network, purpose }: Pick<ViewOptions, 'network' | 'purpose'>): number {
  const own = sharesHostNetwork(job, purpose) ? network?.loopbackPort : undefined;
  return own ?? INSIDE.relayPort;
}

export function buildSandboxSpec(job: Job, options: ViewOptions): SandboxSpec {
  const { workspace, grant, sandbox, paths } = job;
  const isAgent = options.purpose === 'agent';
  const readOnly = isAgent && grant.mode === 'suggest';
  const onHostNetwork = sharesHostNetwork(job, options.purpose);
  const nested = isAgent && !readOnly && grant.sandbox !== 'none' ? findNestedControls(job) : [];
  const relayedNetwork = onHostNetwork ? null : findNetwork(options);
  return {
    kind: grant.sandbox,
    argv: relayedNetwork ? relayed(sandbox.programs.relay, options.argv) : [...options.argv],
    env: insideEnv(job, options),
    cwd: (isAgent ? workspace.startIn : undefined) ?? workspace.cwd,
    workspace: { source: workspace.path, target: workspace.mountPath, readOnly },
    mailbox: { source: paths.mailbox, target: `${workspace.mountPath}/.caisson` },
    binds: [
      ...sandbox.binds,
      ...(isAgent ? (sandbox.agentBinds ?? []) : []),
      ...agentGitBinds(job, options),
      ...(relayedNetwork
        ? [{ source: relayedNetwork.socket, target: INSIDE.brokerSocket, writable: true }]
        : []),
      ...(options.toolSocket
        ? [{ source: options.toolSocket, target: INSIDE.toolSocket, writable: true }]
        : []),
      ...(options.kept ?? []),
      ...(isAgent && paths.session
        ? [{ source: paths.session, target: `${job.sandbox.home}/.caisson-session`, writable: true }]
        : []),
    ],
    layers: brought(job, readOnly, isAgent ? options.ruled?.unbrought : []),
    hide: [...sandbox.hide, ...(isAgent ? (options.ruled?.outside ?? []) : [])],
    readOnlyPaths: isAgent
      ? [
          ...listHeldPaths(workspace).map((path) => `${workspace.mountPath}/${path}`),
          ...(workspace.kind === 'in-place' ? nested : []),
          ...(options.ruled?.readOnly ?? []),
        ]
      : [],
    // Elsewhere a folder with one in it may be moved; in every case the file is left out of the patch.
    looseReadOnlyPaths: workspace.kind === 'in-place' ? [] : nested,
    hiddenPaths: [...hiddenInside(job), ...(isAgent ? (options.ruled?.hidden ?? []) : [])],
    masks: options.masks ?? [],
    frozen: [INSIDE.run, ...frozenFolders(job, options)],
    home: { path: job.sandbox.home, maxBytes: sandbox.homeBytes },
    tmp: { path: '/tmp', maxBytes: sandbox.tmpBytes },
    files: [
      ...(sandbox.files ?? [])
        .filter(({ path }) => !isAgent || options.ruled?.unbrought.includes(path) !== true)
        .map((file) => ({ ...file, mode: 0o444 })),
      ...(options.files ?? []).map(({ path, content, mode = 0o600 }) => ({ path, content, mode })),
    ],
    network: onHostNetwork ? 'host' : 'none',
    seccomp: true,
    cgroupPaths: [...paths.cgroup],
    ownPrograms: listOwnPrograms(job),
    stdin: options.stdin ?? 'closed',
    stdoutFolder: options.stdout === 'file' ? paths.spool : undefined,
  };
}

function brought(
  { workspace, paths }: Job,
  readOnly: boolean,
  without: readonly string[] = [],
): SandboxSpec['layers'] {
  const folders = workspace.brought?.filter(({ target }) => !without.includes(target));
  return folders === undefined ? undefined : { folders, store: readOnly ? undefined : paths.layers };
}

/** Files with keys that tools read at the top of such a folder. */
const SETTINGS_WITH_KEYS = [
  ...['.npmrc', '.env', 'pip.conf'],
  ...['gradle.properties', 'local.properties', 'signing.properties'],
];

function settingsInBrought({ workspace: { brought = [], mountPath } }: Job): string[] {
  return brought
    .filter(({ target }) => target.startsWith(`${mountPath}/`))
    .flatMap(({ target }) => SETTINGS_WITH_KEYS.map((name) => `${target}/${name}`));
}

/**
 * What is hidden in the workspace is guarded like what a rule hides: the folders above it cannot be moved and made
 * again. The mailbox has its own mount.
 */
function hiddenInside(job: Job): string[] {
  const { workspace, sandbox } = job;
  const mailbox = `${workspace.mountPath}/.caisson`;
  const own = sandbox.hide.filter(
    (path) =>
      path.startsWith(`${workspace.mountPath}/`) && path !== mailbox && !path.startsWith(`${mailbox}/`),
  );
  return [...own, ...settingsInBrought(job)];
}

/** Where the drivers put files that the program only reads. */
function frozenFolders(job: Job, { files = [] }: ViewOptions): string[] {
  const folder = `${job.sandbox.home}/.caisson`;
  return files.some(({ path }) => path.startsWith(`${folder}/`)) ? [folder] : [];
}

function agentGitBinds(job: Job, options: ViewOptions): SandboxSpec['binds'] {
  const git = job.workspace.agentGit;
  if (!git) return [];
  const writable = options.purpose === 'agent' && job.grant.mode !== 'suggest';
  return [
    { source: git.source, target: git.target, writable },
    ...git.objects.map((objects) => ({ ...objects, writable: false })),
    ...git.readOnly.map((name) => ({
      source: `${git.source}/${name}`,
      target: `${git.target}/${name}`,
      writable: false,
    })),
  ];
}

/** The relay listens on loopback inside, forwards every byte to the broker's socket, and starts the command. */
export function relayed(relay: readonly string[], argv: readonly string[]): string[] {
  return [...relay, String(INSIDE.relayPort), INSIDE.brokerSocket, '--', ...argv];
}

/** The interpreter comes first and may be any program's. */
function listOwnPrograms({ sandbox }: Job): string[] {
  const words = Object.values(sandbox.programs).flatMap(([, ...rest]) => rest);
  return [...new Set(words.filter((word) => word.startsWith('/')))];
}

function insideEnv(job: Job, options: ViewOptions): Record<string, string> {
  const proxied = findNetwork(options)?.offersProxy === true;
  const isOffline = !proxied && !sharesHostNetwork(job, options.purpose);
  return {
    ...QUIET_PROGRAMS,
    ...(isOffline ? NO_RETRIES : {}),
    ...options.env,
    HOME: job.sandbox.home,
    TMPDIR: '/tmp',
    CAISSON_RUN_ID: job.runId,
    TRACEPARENT: job.trace,
    CAISSON_MAILBOX: job.grant.sandbox === 'none' ? job.paths.mailbox : `${job.workspace.mountPath}/.caisson`,
    ...serviceEnv(job, options),
    [MARKER_NAME]: `${job.runId}.${job.attempt}`,
    ...(proxied ? proxyVariables(brokerPort(job, options)) : {}),
  };
}

/** How an agent finds the services whose key it does not have. */
function serviceEnv(job: Job, options: ViewOptions): Record<string, string> {
  const base = `http://127.0.0.1:${brokerPort(job, options)}`;
  const entries = (findNetwork(options)?.services ?? []).flatMap(({ name, pathPrefix, placeholder }) => {
    const stem = `CAISSON_SERVICE_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
    return [
      [`${stem}_URL`, `${base}${pathPrefix}`],
      [`${stem}_KEY`, placeholder],
    ];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}
