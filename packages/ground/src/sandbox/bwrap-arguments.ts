// The arguments of bubblewrap. They are passed in a descriptor, not in argv, where every user could read the
// environment.
import { openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { shellQuote } from '@caisson/protocol';
import { SandboxSpecError } from './errors.ts';
import type { SandboxSpec } from './contract.ts';
import { isFree, liesInMemory, type Mount } from './mount-plan.ts';
import { canonical, findRealPath, isInside } from './real-path.ts';
import type { SystemView } from './system-view.ts';

/** Gives content, or an open descriptor of ours, a descriptor number inside the child. */
export type AttachContent = (content: string | Buffer | number) => number;

export const SANDBOX_UID = 1000;
const MASK_MAX_BYTES = 4096;

/** All options of bubblewrap for this spec; the program itself is not among them. */
export function buildArguments(
  spec: SandboxSpec,
  plan: readonly Mount[],
  view: SystemView,
  attach: AttachContent,
): string[] {
  return [
    ...isolation(spec),
    ...plan.flatMap((mount) => mountWords(mount, attach)),
    ...systemFiles(spec, plan, view, attach),
    ...profileFile(spec, plan, attach),
    ...privateFiles(spec, plan, attach),
    ...[...listSealed(spec, plan), ...view.roots].flatMap((path) => ['--remount-ro', path]),
    '--chdir',
    spec.cwd,
    '--clearenv',
    ...Object.entries(spec.env).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

function isolation(spec: SandboxSpec): string[] {
  return [
    '--unshare-user',
    '--uid',
    String(spec.uid ?? SANDBOX_UID),
    '--gid',
    String(spec.gid ?? SANDBOX_UID),
    '--disable-userns',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(spec.network === 'none' ? ['--unshare-net'] : []),
    '--hostname',
    'caisson',
    '--cap-drop',
    'ALL',
    '--new-session',
    '--die-with-parent',
  ];
}

function mountWords(mount: Mount, attach: AttachContent): string[] {
  switch (mount.kind) {
    case 'bind':
      return [mount.writable ? '--bind' : '--ro-bind', mount.source, mount.target];
    case 'link':
      return ['--symlink', mount.to, mount.target];
    case 'proc':
      return ['--proc', mount.target];
    case 'dev':
      return ['--dev', mount.target];
    case 'mask':
      return [
        ...['--perms', '755', '--size', String(MASK_MAX_BYTES), '--tmpfs', mount.target],
        ...Object.entries(mount.files).flatMap(([name, content]) =>
          readOnlyFile(`${mount.target}/${name}`, content, attach),
        ),
      ];
    case 'text':
      return readOnlyFile(mount.target, mount.content, attach);
    case 'scratch':
      return ['--perms', mount.mode.toString(8), '--size', String(mount.maxBytes), '--tmpfs', mount.target];
  }
}

/** Files that are copied into the system's folders, unless a caller's mount is there. */
function systemFiles(
  spec: SandboxSpec,
  plan: readonly Mount[],
  view: SystemView,
  attach: AttachContent,
): string[] {
  const own = [...accountFiles(spec), ...(spec.network === 'none' ? resolverFiles() : [])];
  const files = [
    ...view.files
      .filter((path) => !own.some((file) => file.path === path))
      .map((path) => ({ path, give: () => attach(openSync(path, 'r')) })),
    ...own.map(({ path, content }) => ({ path, give: () => attach(content) })),
  ];
  return files.flatMap(({ path, give }) =>
    isFree(path, plan) ? ['--perms', '0444', '--file', String(give()), path] : [],
  );
}

/** Programs ask who they are (`whoami`, `os.userInfo()`) and fail when their uid has no line. */
function accountFiles(spec: SandboxSpec): { path: string; content: string }[] {
  const uid = spec.uid ?? SANDBOX_UID;
  const gid = spec.gid ?? SANDBOX_UID;
  return [
    ...accountFile('/etc/passwd', uid, `caisson:x:${uid}:${gid}:Caisson:${spec.home.path}:/bin/sh`),
    ...accountFile('/etc/group', gid, `caisson:x:${gid}:`),
  ];
}

/** Some agents run each command in a login shell, which sets PATH anew: that of the run comes last. */
function profileFile(spec: SandboxSpec, plan: readonly Mount[], attach: AttachContent): string[] {
  const path = findRealPath('/etc/profile');
  const searched = spec.env['PATH'];
  if (path === null || searched === undefined || plan.some(({ target }) => target === path)) return [];
  const content = `${readFileSync(path, 'utf8')}\nPATH=${shellQuote(searched)}\nexport PATH\n`;
  return readOnlyFile(path, content, attach);
}

/** Sources of host names that need no network; `mdns`, `resolve`, `dns` and conditions in brackets do. */
const LOCAL_SOURCES = new Set(['files', 'myhostname', 'compat']);

/** Without a network a name is unknown at once: no server is asked, so there is no "try again". */
function resolverFiles(): { path: string; content: string }[] {
  const etc = canonical('/etc');
  const switches =
    findRealPath('/etc/nsswitch.conf') === null
      ? 'hosts: files\n'
      : readFileSync('/etc/nsswitch.conf', 'utf8');
  const content = switches.replace(/^(hosts:\s*)(.*)$/m, (_, label: string, sources: string) => {
    const local = sources.split(/\s+/).filter((source) => LOCAL_SOURCES.has(source));
    return label + (local.length === 0 ? 'files' : local.join(' '));
  });
  return [
    { path: `${etc}/nsswitch.conf`, content },
    { path: `${etc}/resolv.conf`, content: 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' },
  ];
}

function accountFile(path: string, id: number, ownLine: string): { path: string; content: string }[] {
  if (findRealPath(path) === null) return [];
  const others = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && line.split(':')[2] !== String(id) && !line.startsWith('caisson:'));
  return [
    {
      path: canonical(dirname(path)) + path.slice(dirname(path).length),
      content: [...others, ownLine, ''].join('\n'),
    },
  ];
}

function privateFiles(spec: SandboxSpec, plan: readonly Mount[], attach: AttachContent): string[] {
  return spec.files.flatMap((file) => {
    if (!liesInMemory(file.path, plan)) {
      throw new SandboxSpecError(
        `The file ${file.path} would be written to the disk; private files belong in HOME or TMPDIR.`,
      );
    }
    // In a frozen folder a file needs no mount, and a program that asks for its real name gets one: a mounted file has
    // the name of a deleted file.
    return isFrozen(spec, file.path)
      ? ['--perms', file.mode.toString(8), '--file', String(attach(file.content)), file.path]
      : readOnlyFile(file.path, file.content, attach, file.mode);
  });
}

const isFrozen = ({ frozen = [] }: SandboxSpec, path: string): boolean =>
  frozen.some((folder) => isInside(canonical(folder), canonical(path)));

function readOnlyFile(path: string, content: string, attach: AttachContent, mode = 0o444): string[] {
  return ['--perms', mode.toString(8), '--ro-bind-data', String(attach(content)), path];
}

/** The owner could change the rights of a folder of mode 0555; a read-only mount cannot be changed. */
function listSealed(spec: SandboxSpec, plan: readonly Mount[]): string[] {
  const masks = plan.flatMap((mount) => (mount.kind === 'mask' ? [mount.target] : []));
  return ['/dev', ...(spec.frozen ?? []).map(canonical), ...masks];
}
