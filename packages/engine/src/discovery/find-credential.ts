/**
 * What a run identifies itself with to its model. Admission refuses by this decision, and the doctor and
 * `caisson runtimes` report it, so that all of them say the same.
 */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { readSmallFileSync } from '@caisson/ground';
import {
  MAX_LOGIN_BYTES,
  type LoginUse,
  type RuntimeConfig,
  type RuntimeDescriptor,
} from '@caisson/protocol';
import type { Credential, CredentialFacts, FoundLogin, OtherAddress, ProbeContext } from './contract.ts';

const MAX_SHOWN = 80;

/** How the vendors name the variables for their keys. */
const VENDORS_KEY = /_(API_KEY|AUTH_TOKEN|OAUTH_TOKEN)$|^AWS_(BEARER_TOKEN_BEDROCK|ACCESS_KEY_ID)$/;

export function chooseCredential(facts: CredentialFacts): Credential {
  const { login, apiKeyRef, api, adapter, endpoint } = facts;
  if (login) return chooseLogin(facts);
  if (apiKeyRef !== null) return chooseKey(facts, apiKeyRef);
  if (api === 'none') return { kind: 'not-needed', uses: '-' };
  if (adapter !== null) return { kind: 'not-needed', uses: 'what its adapter brings' };
  const variable = findOwnKey(facts);
  if (variable !== undefined) return { kind: 'key', uses: `the key in its own variable ${variable}` };
  if (endpoint !== null) return { kind: 'no-key', uses: `no key, at ${endpoint}` };
  return chooseNothing(facts);
}

/** Where the key of a runtime is: as configured, else in the variable in which users normally keep it. */
export function findKeyRef(
  { keyEnv }: RuntimeDescriptor,
  { apiKey }: RuntimeConfig,
  env: ProbeContext['env'],
): string | null {
  if (apiKey !== undefined) return apiKey;
  return keyEnv !== undefined && (env[keyEnv] ?? '') !== '' ? `env:${keyEnv}` : null;
}

/** The key of a gateway must not go to another host: its address is in the environment, and no `endpoint` is set. */
export function findOtherAddress(
  { baseUrlEnv, defaultEndpoint }: RuntimeDescriptor,
  { endpoint }: RuntimeConfig,
  { env, apiKeyRef }: { env: ProbeContext['env']; apiKeyRef: string | null },
): OtherAddress | null {
  const url = baseUrlEnv === undefined ? undefined : env[baseUrlEnv];
  if (baseUrlEnv === undefined || url === undefined || url === '') return null;
  if (endpoint !== undefined || apiKeyRef?.startsWith('env:') !== true) return null;
  return originOf(url) === originOf(defaultEndpoint) ? null : { variable: baseUrlEnv, url };
}

const originOf = (url = ''): string | undefined => URL.parse(url)?.origin;

/** The file that a program keeps its log-in in; null if there is none, or if a run cannot use such a log-in. */
export function findLogin(home: string, { login, loginFiles }: RuntimeDescriptor): FoundLogin | null {
  const file = loginFiles.find((name) => existsSync(join(home, name)));
  if (login === undefined || file === undefined) return null;
  const path = join(home, file);
  return { file, path, ...findProblem(path, file, login) };
}

function findProblem(
  path: string,
  file: string,
  { member, keyMember = '' }: LoginUse,
): Pick<FoundLogin, 'problem' | 'keyRef'> {
  try {
    const text = readSmallFileSync(realpathSync(path), MAX_LOGIN_BYTES)?.text;
    if (text === undefined) return { problem: `it is not a file of at most ${MAX_LOGIN_BYTES} bytes` };
    const found = JSON.parse(text) as Record<string, unknown> | null;
    if ((found?.[member] ?? null) !== null) return { problem: null };
    if (typeof found?.[keyMember] === 'string')
      return { problem: 'it is an API key', keyRef: `exec:jq -r .${keyMember} ~/${file}` };
    return { problem: `it has no "${member}"` };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? 'it is not JSON' : (error as Error).message };
  }
}

function chooseLogin({ descriptor, foundLogin: found }: CredentialFacts): Credential {
  const { name, login, loginFiles } = descriptor;
  if (found?.problem === null)
    return { kind: 'login', uses: `your log-in (~/${found.file}), which the agent can read` };
  if (login === undefined)
    return {
      kind: 'none',
      uses: 'nothing: it has no log-in',
      refusal: `a run of ${name} cannot use a log-in`,
    };
  const demand = `${name} is to use your log-in, but`;
  if (found === null)
    return {
      kind: 'none',
      uses: `nothing: you are not logged in with ${name}`,
      refusal: `${demand} there is no ~/${loginFiles.join(' or ~/')}`,
    };
  const why = `cannot be used: ${found.problem}`;
  return { kind: 'none', uses: `nothing: ~/${found.file} ${why}`, refusal: `${demand} ${found.path} ${why}` };
}

/** A run uses what the configuration names; other places are not searched. */
function chooseKey({ checkRef, otherAddress, descriptor }: CredentialFacts, ref: string): Credential {
  if (otherAddress !== null) return refuseOtherAddress(descriptor, otherAddress);
  const variable = /^env:(.+)$/s.exec(ref)?.[1];
  const refusal = checkRef(ref);
  const place = variable === undefined ? `of ${ref.slice(0, MAX_SHOWN)}` : `in ${variable}`;
  if (refusal === null) return { kind: 'key', uses: `the key ${place}` };
  const what = variable === undefined ? refusal : `${variable} is not set`;
  return { kind: 'none', uses: `nothing: ${what}`, refusal };
}

function refuseOtherAddress(
  { name, defaultEndpoint }: RuntimeDescriptor,
  { variable }: OtherAddress,
): Credential {
  const refusal = `${variable} is set and not used, so the key of ${name} would go to ${defaultEndpoint ?? 'another host'}`;
  return { kind: 'none', uses: `nothing: ${variable} is set and not used; set endpoint`, refusal };
}

/** A variable that the run is given, by a name that the program knows. */
function findOwnKey({ descriptor, given }: CredentialFacts): string | undefined {
  const { keyEnv, otherKeyEnv } = descriptor;
  return given.find((name) => name === keyEnv || (otherKeyEnv?.includes(name) ?? VENDORS_KEY.test(name)));
}

function chooseNothing({ descriptor, foundLogin }: CredentialFacts): Credential {
  const { name, login, keyEnv } = descriptor;
  const refusal = `${name} has no key for its model`;
  if (foundLogin?.problem === null)
    return {
      kind: 'login-unused',
      uses: `nothing yet: --login uses your log-in (~/${foundLogin.file})`,
      refusal,
    };
  if (foundLogin?.keyRef !== undefined)
    return {
      kind: 'none',
      uses: `nothing yet: your log-in (~/${foundLogin.file}) is an API key; name it as apiKey: "${foundLogin.keyRef}"`,
      refusal,
    };
  const orLogIn = login === undefined ? '' : `, or log in with ${name}`;
  return { kind: 'none', uses: `nothing: set ${keyEnv ?? 'apiKey'}${orLogIn}`, refusal };
}
