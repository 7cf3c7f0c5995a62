/** What the guest and the user's code see: the project read-only, their own folder, and what was granted. */
import { limitFileSize, MARKER_NAME, type SandboxSpec } from '@caisson/ground';
import { STATE_INSIDE, type ResidentJob } from '@caisson/protocol';
import type { OpenNetwork } from '../network/index.ts';
import { INSIDE, proxyVariables, QUIET_PROGRAMS, relayed } from '../view/index.ts';

export function buildGuestSpec(job: ResidentJob, network: OpenNetwork | null): SandboxSpec {
  const { sandbox, grant, paths } = job;
  const { projectRoot } = sandbox;
  const { guest, relay } = sandbox.programs;
  const grants = (folders: readonly string[], writable: boolean): SandboxSpec['binds'] =>
    folders.map((path) => ({ source: path, target: path, writable, isFolderAsNamed: true }));
  const hidden = sandbox.hide.filter((path) => path.startsWith(`${projectRoot}/`));
  const isGitConfig = (path: string): boolean =>
    path.startsWith(`${projectRoot}/.git/`) && path.endsWith('/config');
  return {
    kind: 'bwrap',
    argv: limitFiles(network === null ? guest : relayed(relay, guest), grant.limits.disk),
    env: guestVariables(job, network),
    cwd: projectRoot,
    workspace: { source: projectRoot, target: projectRoot, readOnly: true },
    binds: [
      ...sandbox.binds,
      ...grants(grant.read, false),
      ...grants(grant.write, true),
      { source: paths.state, target: STATE_INSIDE, writable: true },
      ...(network === null ? [] : [{ source: network.socket, target: INSIDE.brokerSocket, writable: true }]),
    ],
    hide: sandbox.hide,
    hiddenPaths: hidden.filter((path) => !isGitConfig(path)),
    // Empty, not unreadable: git works without its settings, and not with a file that it may not read.
    masks: hidden.filter(isGitConfig).map((path) => ({ kind: 'file', path, content: '' })),
    readOnlyPaths: [],
    frozen: [INSIDE.run],
    home: { path: sandbox.home, maxBytes: sandbox.homeBytes },
    tmp: { path: '/tmp', maxBytes: sandbox.tmpBytes },
    files: [],
    network: grant.hosts.includes('*') ? 'host' : 'none',
    seccomp: true,
    cgroupPaths: paths.cgroup,
    stdin: 'closed',
    extraFds: ['pipe'],
  };
}

/** The kernel lets no single file become larger than the disk limit: one call could take all that is free before a watch looks. */
function limitFiles(argv: readonly string[], maxBytes: number | undefined): readonly string[] {
  return maxBytes === undefined ? argv : limitFileSize(argv, maxBytes);
}

function guestVariables(job: ResidentJob, network: OpenNetwork | null): Record<string, string> {
  return {
    ...QUIET_PROGRAMS,
    ...job.sandbox.env,
    HOME: job.sandbox.home,
    TMPDIR: '/tmp',
    CAISSON_STATE: STATE_INSIDE,
    [MARKER_NAME]: job.resident,
    ...(network === null ? {} : proxyVariables(INSIDE.relayPort)),
  };
}
