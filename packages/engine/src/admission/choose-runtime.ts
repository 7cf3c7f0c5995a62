/** Which runtime and model a run uses, and what it may do with them: the part of a candidate that needs no task. */
import type { Candidate, DispatchRequest } from './contract.ts';
import { TaskRefusedError } from './errors.ts';
import { withLogin } from './login-files.ts';
import { resolveGrant } from './resolve-grant.ts';
import type { DispatchRooms, FoundAgent, FoundEnvBundle, FoundRuntime, RuntimeNames } from './rooms.ts';

/** What the checks of runtime, mode and machine look at. */
export type Prospect = Pick<
  Candidate,
  'request' | 'runtime' | 'agent' | 'tier' | 'model' | 'grant' | 'envBundles'
>;

export type ProspectRooms = Pick<DispatchRooms, 'settings'> & { readonly names: RuntimeNames };

export async function describeProspect(
  rooms: ProspectRooms,
  request: DispatchRequest,
  agent: FoundAgent | null,
  envBundles: readonly FoundEnvBundle[],
): Promise<Prospect> {
  const { settings, names } = rooms;
  const runtime = useModel(useLogin(await chooseRuntime(rooms, request, agent), request), request);
  const tier = chooseModel(request, agent, runtime);
  const model = tier === '' ? '' : names.model(runtime.name, tier);
  const grant = resolveGrant(request, agent, settings, settings.projectRoot, envBundles);
  return { request, runtime, agent, tier, model, grant, envBundles };
}

/** What the user agreed to before, or agrees to with this request; another run cannot. */
function useLogin(runtime: FoundRuntime, { login, parent }: DispatchRequest): FoundRuntime {
  return runtime.login || (login === true && parent === undefined) ? withLogin(runtime) : runtime;
}

/**
 * The model that the request names. The key of one address never goes to another. A program whose API has its version in
 * each path gets the address without it.
 */
function useModel(runtime: FoundRuntime, { llm }: DispatchRequest): FoundRuntime {
  const { endpoint, apiKey } = llm ?? {};
  if (endpoint === undefined)
    return apiKey === undefined ? runtime : { ...runtime, apiKeyRef: apiKey, login: false };
  const isVersioned = runtime.api === 'openai-chat' || runtime.api === 'openai-responses';
  const base = isVersioned ? endpoint : endpoint.replace(/\/v1$/, '');
  return { ...runtime, endpoint: base, otherAddress: null, login: false, apiKeyRef: apiKey ?? null };
}

async function chooseRuntime(
  { names, settings }: ProspectRooms,
  request: DispatchRequest,
  agent: FoundAgent | null,
): Promise<FoundRuntime> {
  const usual = agent?.definition.runtime ?? settings.defaultRuntime;
  const chosen = request.runtime ?? (request.argv === undefined ? usual : 'command');
  if (chosen !== null) return names.runtime(chosen);
  const usable = await names.usableRuntimes();
  const [only] = usable;
  if (usable.length === 1 && only !== undefined) return names.runtime(only);
  throw new TaskRefusedError({
    check: 'runtime-chosen',
    kind: 'usage',
    detail:
      usable.length === 0
        ? 'no agent program was found here'
        : `several runtimes are here: ${usable.join(', ')}`,
    remedy:
      usable.length === 0
        ? 'Install one (caisson runtimes lists them), use the built-in agent, which needs a key only (--runtime native), or run a command: caisson run --runtime command -- CMD'
        : `Choose one with --runtime, or set "runtime:" in caisson.yaml.`,
  });
}

/** Flag > agent > configuration > empty; an empty string is unset at every step. */
function chooseModel(request: DispatchRequest, agent: FoundAgent | null, runtime: FoundRuntime): string {
  return request.model || agent?.definition.model || runtime.model || '';
}
