/**
 * Variables of a task. Their values are in memory while the run is under way, and never written: the stored request has
 * the names that are passed on again by the one who repeats it (`passEnv`), and the names that it must give again
 * (`lackingEnv`).
 */
import { definedOnly } from '@caisson/protocol';
import type { DispatchRequest, Refusal } from './contract.ts';
import { TaskRefusedError } from './errors.ts';
import type { DispatchSettings } from './rooms.ts';

type Asked = Pick<DispatchRequest, 'env' | 'passEnv' | 'lackingEnv'>;
type Variables = Pick<DispatchSettings, 'variables'>;

/** The request with the values of what its caller passes on; a value that was given counts before that. */
export function takeVariables(request: DispatchRequest, { variables }: Variables): DispatchRequest {
  const { passEnv = [], env = {} } = request;
  if (passEnv.length === 0) return request;
  const passed = definedOnly(Object.fromEntries(passEnv.map((name) => [name, variables[name]])));
  return { ...request, env: { ...passed, ...env } };
}

/** What is stored of a request's variables. */
export function withoutValues(request: DispatchRequest): DispatchRequest {
  const { env = {}, lackingEnv = [], ...rest } = request;
  const isPassed = new Set(request.passEnv);
  const lacking = [...new Set([...lackingEnv, ...Object.keys(env)])].filter((name) => !isPassed.has(name));
  return lacking.length === 0 ? rest : { ...rest, lackingEnv: lacking };
}

/** The variables of a request that is repeated with changes. */
export function joinVariables(request: Asked, { env, passEnv = [] }: Asked): Asked {
  const isGiven = new Set(Object.keys(env ?? {}));
  const lacking = (request.lackingEnv ?? []).filter((name) => !isGiven.has(name) && !passEnv.includes(name));
  const passed = [...new Set([...(request.passEnv ?? []), ...passEnv])].filter((name) => !isGiven.has(name));
  const values = { ...request.env, ...env };
  return {
    ...(Object.keys(values).length === 0 ? {} : { env: values }),
    ...(passed.length === 0 ? {} : { passEnv: passed }),
    ...(lacking.length === 0 ? {} : { lackingEnv: lacking }),
  };
}

/** Variables that the task needs and nobody gave. */
export function listMissing({ env = {}, passEnv = [], lackingEnv = [] }: Asked): readonly string[] {
  return [...passEnv, ...lackingEnv].filter((name) => env[name] === undefined);
}

/** Whether another attempt would lack the same: the caller's variables do not change any more. */
export function lacksVariable(request: DispatchRequest, { variables }: Variables): boolean {
  const refs = Object.values(request.secrets ?? {});
  return listMissing(request).length > 0 || refs.some((ref) => isUnset(ref, variables));
}

function isUnset(ref: string, variables: DispatchSettings['variables']): boolean {
  return ref.startsWith('env:') && (variables[ref.slice('env:'.length)] ?? '') === '';
}

/** A repetition is accepted without them, and ends as `fetch-failed`. */
export function findMissingVariable({
  request,
}: {
  readonly request: DispatchRequest;
}): Omit<Refusal, 'check'> | null {
  if (request.continues !== undefined) return null;
  const [name] = listMissing(request);
  return name === undefined
    ? null
    : {
        kind: 'usage',
        detail: `the variable ${name} is not set here`,
        remedy: `Give it a value: --env ${name}=…`,
      };
}

/** The references of a request that are checked before it is accepted. */
export function listCheckedSecrets(
  { secrets = {}, continues }: DispatchRequest,
  { variables }: Variables,
): readonly string[] {
  return Object.values(secrets).filter((ref) => continues === undefined || !isUnset(ref, variables));
}

/** Throws for a repetition that lacks a variable of the first request. */
export function requireVariables(request: DispatchRequest): void {
  const missing = listMissing(request);
  if (missing.length > 0) throw new Error(describeMissing(missing));
}

/** An answer counts once: it is refused before it is taken. */
export function requireToAnswer(request: DispatchRequest, settings: Variables): void {
  const missing = listMissing(takeVariables(request, settings));
  if (missing.length === 0) return;
  const remedy = `Give them with the answer: caisson answer ${missing.map((name) => `--env ${name}=…`).join(' ')}.`;
  throw new TaskRefusedError({ check: 'variables', kind: 'usage', detail: describeMissing(missing), remedy });
}

function describeMissing(names: readonly string[]): string {
  const [is, them] = names.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const given = names.map((name) => `--env ${name}=…`).join(' ');
  return `${names.join(', ')} ${is} missing: values of variables are not stored; give ${them} again (${given})`;
}
