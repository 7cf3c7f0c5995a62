/**
 * The address of a remote repository, judged before git gets it. Git reads far more into an address than a place:
 * options, programs (`ext::`, `ProxyCommand`), other transports and credentials. Only four forms pass, and each names
 * exactly one protocol.
 */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CaissonError } from '@caisson/protocol';

import { ownUid } from '../files/index.ts';
import { unlessErrno } from '../platform/index.ts';

export type RemoteProtocol = 'file' | 'http' | 'https' | 'ssh';

export interface RemoteAddress {
  readonly protocol: RemoteProtocol;
  /** What git gets, and what events show: it has no credentials. A local one is an absolute path. */
  readonly url: string;
  /** Scheme, host and port of an `http` or `https` address. */
  readonly origin?: string;
}

/** The address cannot be used; the message does not repeat it where it may have a secret in it. */
export class RemoteAddressError extends CaissonError {
  readonly code = 'REMOTE_ADDRESS';
}

const MAX_CHARACTERS = 2048;
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//;
const USER = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])$/;
const FORMS =
  'Use https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or the path of a local repository.';

/** `cwd`: what a relative path is relative to. Throws {@link RemoteAddressError}. */
export function parseRemoteAddress(text: string, cwd: string): RemoteAddress {
  // oxlint-disable-next-line no-control-regex -- a line break would end a line of git's credential protocol
  if (text === '' || text.length > MAX_CHARACTERS || /[\u0000-\u001f\u007f]/.test(text))
    throw new RemoteAddressError(
      'the address of the repository is empty, too long, or has control characters',
    );
  if (text.startsWith('-')) throw odd(text, 'begins like an option');
  if (/^[A-Za-z0-9+.-]*::/.test(text)) throw odd(text, 'names a program of git as its transport');
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return parseScpLike(text) ?? { protocol: 'file', url: resolve(cwd, text) };
    case 'http':
    case 'https':
      return parseHttp(text, scheme);
    case 'ssh':
      return parseSsh(text);
    case 'file':
      return parseFile(text);
    default:
      throw new RemoteAddressError(`${scheme}:// is not a protocol that Caisson uses for a repository`, {
        remedy: FORMS,
      });
  }
}

function odd(text: string, why: string): RemoteAddressError {
  return new RemoteAddressError(
    `${JSON.stringify(text.slice(0, 200))} is not an address of a repository: it ${why}`,
    {
      remedy: FORMS,
    },
  );
}

function parseHttp(text: string, protocol: 'http' | 'https'): RemoteAddress {
  const url = parseUrl(text);
  // A name alone counts, too: some services take a token as the name.
  if (url.username !== '' || url.password !== '') throw withCredentials();
  if (url.search !== '' || url.hash !== '')
    throw new RemoteAddressError(
      'the address of the repository has a query or a fragment, which may be a secret',
      {
        remedy: 'Leave it out; where a token is, is said with --git-token, for example env:GIT_TOKEN.',
      },
    );
  // The origin becomes part of the name of a setting of git.
  if (!HOST.test(url.hostname)) throw odd(text, 'has no plain host');
  return { protocol, url: url.href, origin: url.origin };
}

function withCredentials(): RemoteAddressError {
  return new RemoteAddressError(
    'the address of the repository has a name or password in it, which others could read',
    {
      remedy: 'Leave it out, and say where the token is: --git-token env:GIT_TOKEN (or file:PATH).',
    },
  );
}

function parseSsh(text: string): RemoteAddress {
  const url = parseUrl(text);
  if (url.password !== '') throw withCredentials();
  // With `%` it is not plain: it is read by git and by ssh.
  const isUser = url.username === '' || USER.test(url.username);
  const isPlain = HOST.test(url.hostname) && isUser && url.search + url.hash === '';
  if (!isPlain || url.pathname.length < 2) throw odd(text, 'has no plain user, host and path');
  return { protocol: 'ssh', url: text };
}

/** `user@host:path`, which git distinguishes from a path: no slash before the first colon. */
function parseScpLike(text: string): RemoteAddress | null {
  const [, user, host = '', path = ''] = /^(?:([^@/:]*)@)?(\[[^\]/]*\]|[^:/@[\]]+):(.*)$/s.exec(text) ?? [];
  if (host === '') return null;
  if ((user !== undefined && !USER.test(user)) || !HOST.test(host) || path === '' || path.startsWith('-'))
    throw odd(text, 'has no plain user, host and path');
  return { protocol: 'ssh', url: text };
}

function parseFile(text: string): RemoteAddress {
  const url = parseUrl(text);
  if (url.host !== '' || url.search + url.hash !== '')
    throw odd(text, 'names another host, or more than a path');
  try {
    return { protocol: 'file', url: fileURLToPath(url) };
  } catch {
    throw odd(text, 'is not a path of this machine');
  }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.host === '' && url.protocol !== 'file:'))
    throw new RemoteAddressError('the address of the repository cannot be read', { remedy: FORMS });
  return url;
}

/**
 * A repository on this machine runs programs of its own (hooks) when it is pushed to, and git obeys its settings: it
 * must be a folder that this user owns, as git itself demands.
 */
export function demandOwnFolder({ protocol, url }: RemoteAddress): void {
  if (protocol !== 'file') return;
  const codes = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'] as const;
  for (const path of [url, join(url, '.git')]) {
    const found = unlessErrno(() => statSync(path), null, ...codes);
    if (found === null && path === url)
      throw new RemoteAddressError(`${url} is not there, or cannot be opened`, { remedy: FORMS });
    if (found === null) continue;
    if (path === url && !found.isDirectory())
      throw new RemoteAddressError(`${url} is not a folder`, { remedy: FORMS });
    if (found.uid !== ownUid())
      throw new RemoteAddressError(
        `the repository ${url} belongs to another user, whose programs git would run`,
        {
          remedy: 'Use it over ssh, or clone it and name the clone.',
        },
      );
  }
}

/** Whether what is sent to it can be read on its way. */
export function isReadableOnTheWay({ protocol, url }: RemoteAddress): boolean {
  if (protocol !== 'http') return false;
  const host = URL.parse(url)?.hostname ?? '';
  return !(host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host));
}
