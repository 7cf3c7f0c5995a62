/** The settings for remote repositories. */
import * as z from 'zod/mini';
import { Duration, optional, SecretRef, Size, text } from './config-values.ts';

export const GitConfig = z.strictObject({
  url: optional(
    'ask',
    text(2048),
    'Remote repository that runs work on instead of the project, unless they name another one. Also --repo.',
  ),
  token: optional(
    'ask',
    SecretRef,
    'Where the token for it is. It is sent to the remote alone, never to an agent.',
  ),
  knownHosts: optional(
    'ask',
    text(),
    "The only list of host keys for ssh. Default: your known_hosts and the system's.",
  ),
  identity: optional(
    'ask',
    text(),
    'The only private key for ssh. Default: yours, and those of your ssh-agent.',
  ),
  timeout: optional('may-lower', Duration, 'Longest time of one connection to a remote. Default 5m.'),
  cacheAge: optional(
    'ask',
    Duration,
    'How long our copy of a remote that no run needs any more is kept after its last use. Default 30d.',
  ),
  maxFetch: optional('may-lower', Size, 'Largest pack that is accepted from a remote. Default 4g.'),
});
