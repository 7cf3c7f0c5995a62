/** What a run would identify itself with to its model, in the order in which a run chooses. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { readSmallFileSync } from '@caisson/ground';
import { MAX_LOGIN_BYTES, type RuntimeConfig, type RuntimeDescriptor } from '@caisson/protocol';
import type { Credential, FoundLogin, ProbeContext } from './contract.ts';

const MAX_SHOWN = 80;

type Here = Pick<ProbeContext, 'env' | 'home'>;

export function describeCredential(
  here: Here,
  descriptor: RuntimeDescriptor | null,
  config: RuntimeConfig,
): Credential {
  if (descriptor === null || descriptor.api === 'none') return { kind: 'not-needed', uses: '-' };
  const found = findLogin(here.home, descriptor);
  if (config.login === 'mount') return describeAgreed(here, descriptor, found);
  const key = describeKey(here, descriptor, config);
  if (key !== null) return key;
  if (config.endpoint !== undefined) return { kind: 'no-key', uses: `no key, at ${config.endpoint}` };
  if (found !== null && found.problem === null)
    return {
      kind: 'login-unused',
      uses: `nothing yet: --login uses your log-in (${shorten(here, found.path)})`,
    };
  const orLogIn = descriptor.login === undefined ? '' : `, or log in with ${descriptor.name}`;
  return { kind: 'none', uses: `nothing: set ${descriptor.keyEnv ?? 'apiKey'}${orLogIn}` };
}

/** The file that a program keeps its log-in in; null if there is none, or if a run cannot use such a log-in. */
export function findLogin(home: string, { login, loginFiles }: RuntimeDescriptor): FoundLogin | null {
  const file = loginFiles.find((name) => existsSync(join(home, name)));
  if (login === undefined || file === undefined) return null;
  const path = join(home, file);
  return { file, path, problem: findProblem(path, login.member) };
}

function findProblem(path: string, member: string): string | null {
  try {
    const text = readSmallFileSync(realpathSync(path), MAX_LOGIN_BYTES)?.text;
    if (text === undefined) return `it is not a file of at most ${MAX_LOGIN_BYTES} bytes`;
    const value = (JSON.parse(text) as Record<string, unknown> | null)?.[member];
    return value === undefined || value === null ? `it has no "${member}"` : null;
  } catch (error) {
    return error instanceof SyntaxError ? 'it is not JSON' : (error as Error).message;
  }
}

function describeAgreed(here: Here, { name }: RuntimeDescriptor, found: FoundLogin | null): Credential {
  if (found === null) return { kind: 'none', uses: `nothing: you are not logged in with ${name}` };
  const place = shorten(here, found.path);
  return found.problem === null
    ? { kind: 'login', uses: `your log-in (${place}), which the agent can read` }
    : { kind: 'none', uses: `nothing: ${place} cannot be used: ${found.problem}` };
}

/** A run uses what the configuration names; other places are not searched. */
function describeKey(
  { env }: Here,
  { keyEnv }: RuntimeDescriptor,
  { apiKey }: RuntimeConfig,
): Credential | null {
  const ref = apiKey ?? (keyEnv === undefined ? undefined : `env:${keyEnv}`);
  if (ref === undefined) return null;
  const variable = /^env:(.+)$/s.exec(ref)?.[1];
  if (variable === undefined) return { kind: 'key', uses: `the key of ${ref.slice(0, MAX_SHOWN)}` };
  if ((env[variable] ?? '') !== '') return { kind: 'key', uses: `the key in ${variable}` };
  return apiKey === undefined ? null : { kind: 'none', uses: `nothing: ${variable} is not set` };
}

const shorten = ({ home }: Here, path: string): string => path.replace(`${home}/`, '~/');
