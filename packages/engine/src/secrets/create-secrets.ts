import { readFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { runBounded } from '@caisson/ground';
import type { Secrets } from './contract.ts';
import { SecretUnavailableError } from './errors.ts';

const EXEC_TIMEOUT_MS = 30_000;
const MAX_SECRET_BYTES = 65_536;

export interface SecretsOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Relative `file:` references start here. */
  readonly base: string;
}

type Resolver = (what: string, options: SecretsOptions) => Promise<string>;

const RESOLVERS: Readonly<Record<string, Resolver>> = {
  env: (name, { env }) => {
    const value = env[name];
    if (value === undefined || value === '') throw new Error(`the environment variable ${name} is not set`);
    return Promise.resolve(value);
  },
  file: async (path, { home, base }) => {
    const full = path.startsWith('~/')
      ? join(home, path.slice(2))
      : isAbsolute(path)
        ? path
        : resolve(base, path);
    return (await readFile(full, 'utf8')).replace(/\r?\n$/, '');
  },
  exec: async (command, { env, base }) => {
    const run = await runBounded({
      file: '/bin/sh',
      args: ['-c', command],
      cwd: base,
      env: { PATH: env['PATH'] ?? '/usr/bin:/bin', HOME: env['HOME'] ?? '/' },
      timeoutMs: EXEC_TIMEOUT_MS,
      maxOutputBytes: MAX_SECRET_BYTES,
    });
    if (run.timedOut) throw new Error(`the command did not end within ${EXEC_TIMEOUT_MS / 1000} s`);
    if (run.exitCode !== 0)
      throw new Error(`the command exited with ${run.exitCode ?? run.signal ?? 'no code'}`);
    return run.stdout.toString('utf8').replace(/\r?\n$/, '');
  },
};

export function createSecrets(options: SecretsOptions): Secrets {
  return {
    check(ref) {
      const [scheme, what] = split(ref);
      if (RESOLVERS[scheme] === undefined)
        return `"${scheme}:" is not a way to find a secret; use ${Object.keys(RESOLVERS).join(':, ')}:`;
      return what === '' ? `the secret reference "${scheme}:" names nothing` : null;
    },
    async resolve(ref) {
      const [scheme, what] = split(ref);
      const resolver = RESOLVERS[scheme];
      if (resolver === undefined)
        throw new SecretUnavailableError(`${scheme}: is not a way to find a secret`);
      try {
        return await resolver(what, options);
      } catch (error) {
        throw new SecretUnavailableError(`secret ${ref} could not be resolved: ${(error as Error).message}`, {
          cause: error,
        });
      }
    },
  };
}

function split(ref: string): [string, string] {
  const at = ref.indexOf(':');
  return at === -1 ? [ref, ''] : [ref.slice(0, at), ref.slice(at + 1)];
}
