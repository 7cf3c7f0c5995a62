/**
 * The second profile of git: for `ls-remote`, `fetch` and `push` alone.
 *
 * R1  One protocol, that of the address; no redirect, no proxy, no bundle, no submodule, no tag, no user config, no hook
 *     of the local side.
 * R2  A token reaches git through a pipe that a credential helper of ours reads, for the origin of the address alone. It
 *     is in no argument, variable, file, URL or config, and is taken out of what git and the server say.
 * R3  ssh: the host key must be known, nothing is asked, and nothing but the host and the path comes from the address.
 * R4  What comes in is checked (fsck) and limited in size by the kernel; every call has a deadline, and what git started
 *     is killed with it.
 */
import { shellQuote } from '@caisson/protocol';

import { createRedactor, type Redactor } from '../redaction/index.ts';
import { HARDENED_ARGS, HARDENED_ENV } from './git-hardening.ts';
import { RemoteAddressError, type RemoteAddress } from './remote-address.ts';

/** What the user allows for a remote. */
export interface RemoteAccess {
  /** For http and https. */
  readonly token?: string;
  /** The only list of host keys that counts; default: the user's and the system's. */
  readonly knownHosts?: string;
  /** The only private key that is offered; default: the user's, and those of their agent. */
  readonly identity?: string;
  /** The socket of the user's ssh agent. */
  readonly agentSocket?: string;
}

/** Objects that old versions of git wrote in their thousands, and that harm nobody. */
const HARMLESS_ODDITIES = [
  'badTimezone',
  'emptyName',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'zeroPaddedDate',
  'zeroPaddedFilemode',
];

const CONFIG: readonly string[] = [
  'http.followRedirects=false',
  'http.proxy=',
  'http.sslVerify=true',
  'http.cookieFile=',
  'http.saveCookies=false',
  'http.delegation=none',
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=60',
  'transfer.credentialsInUrl=die',
  'transfer.bundleURI=false',
  'transfer.fsckObjects=true',
  'fetch.fsckObjects=true',
  ...HARMLESS_ODDITIES.map((name) => `fetch.fsck.${name}=ignore`),
  // In one pack, which appears whole or not at all.
  'fetch.unpackLimit=1',
  'fetch.recurseSubmodules=false',
  'fetch.writeCommitGraph=false',
  'push.recurseSubmodules=no',
  'push.followTags=false',
  'push.gpgSign=false',
  'push.default=nothing',
  'protocol.version=2',
  'core.fsync=committed,reference',
  'core.packedRefsTimeout=10000',
  'core.filesRefLockTimeout=10000',
];

export function argsFor(remote: RemoteAddress, { token }: RemoteAccess): string[] {
  const helper = token === undefined ? [] : [`credential.${remote.origin ?? ''}.helper=${HELPER}`];
  return ['--no-pager', ...HARDENED_ARGS, ...[...CONFIG, ...helper].flatMap((entry) => ['-c', entry])];
}

/** Git appends what it wants of the helper; `store` and `erase` get nothing. */
const HELPER = '!f() { test "$1" = get && cat <&3; }; f';

/** Services that take a token ignore the name, or want this one. */
const USER_NAME = 'x-access-token';

/** What the helper prints (R2). */
export function credentialOf({ token }: RemoteAccess): string | undefined {
  return token === undefined ? undefined : `username=${USER_NAME}\npassword=${token}\n`;
}

/** Takes out what a server, or git, repeats of the token: by itself, and as git sends it. */
export function redactorOf({ token }: RemoteAccess): Redactor {
  const name = 'gitToken';
  if (token === undefined) return createRedactor([]);
  const sent = Buffer.from(`${USER_NAME}:${token}`).toString('base64');
  return createRedactor([
    { name, value: token },
    { name, value: sent },
  ]);
}

export function environmentFor(remote: RemoteAddress, access: RemoteAccess): Record<string, string> {
  const env = { ...HARDENED_ENV, GIT_ALLOW_PROTOCOL: remote.protocol };
  if (remote.protocol !== 'ssh') return env;
  return {
    ...env,
    GIT_SSH_VARIANT: 'ssh',
    GIT_SSH_COMMAND: sshCommand(access),
    ...(access.agentSocket === undefined ? {} : { SSH_AUTH_SOCK: access.agentSocket }),
  };
}

const SSH_OPTIONS: readonly string[] = [
  'BatchMode=yes',
  'StrictHostKeyChecking=yes',
  'UpdateHostKeys=no',
  'VerifyHostKeyDNS=no',
  'PasswordAuthentication=no',
  'KbdInteractiveAuthentication=no',
  'ProxyCommand=none',
  'ProxyJump=none',
  'PermitLocalCommand=no',
  'ClearAllForwardings=yes',
  'ForwardAgent=no',
  'ForwardX11=no',
  'ControlMaster=no',
  'ControlPath=none',
  'EscapeChar=none',
  'ConnectTimeout=30',
  'ServerAliveInterval=15',
  'ServerAliveCountMax=4',
];

/** R3. `-F /dev/null`: the user's settings may name programs. */
function sshCommand({ knownHosts, identity }: RemoteAccess): string {
  const named = [
    ...(knownHosts === undefined
      ? []
      : [`UserKnownHostsFile=${quoted(knownHosts)}`, 'GlobalKnownHostsFile=/dev/null']),
    ...(identity === undefined ? [] : ['IdentitiesOnly=yes', `IdentityFile=${quoted(identity)}`]),
  ];
  const options = [...SSH_OPTIONS, ...named].flatMap((option) => ['-o', option]);
  return ['ssh', '-F', '/dev/null', ...options].map(shellQuote).join(' ');
}

/** ssh replaces `%`, `~` and `${…}` in the name of a file. */
function quoted(path: string): string {
  if (/["%$\\\n]/.test(path) || !path.startsWith('/'))
    throw new RemoteAddressError(`${JSON.stringify(path)} cannot be the name of a file for ssh`, {
      remedy: 'Use an absolute path without quotes, dollar and percent signs.',
    });
  return `"${path}"`;
}
