/** Whether a run could identify itself to its model. Without that it would only fail later, and cost its setup. */
import { chooseCredential, type Credential } from '../discovery/index.ts';
import type { Candidate } from './contract.ts';
import type { DispatchRooms, FoundRuntime } from './rooms.ts';
import type { RequestRefusal } from './request-checks.ts';

type Given = Pick<Candidate, 'runtime' | 'request' | 'envBundles'>;
type Checking = Pick<DispatchRooms, 'secrets'>;

export function findNoCredential(given: Given, rooms: Checking): RequestRefusal | null {
  const { refusal } = findCredential(given, rooms);
  if (refusal === undefined) return null;
  const { runtime } = given;
  const refused = refuse(runtime, refusal);
  const isWrongRef = !runtime.login && runtime.apiKeyRef !== null;
  return isWrongRef ? { ...refused, kind: 'usage' } : refused;
}

/** What the run would identify itself with. */
export function findCredential({ runtime, request, envBundles }: Given, { secrets }: Checking): Credential {
  const given = [
    ...Object.keys({ ...runtime.env, ...request.env, ...request.secrets }),
    ...envBundles.flatMap((bundle) => Object.keys({ ...bundle.values, ...bundle.secrets })),
  ];
  return chooseCredential({ ...runtime, given, checkRef: (ref) => secrets.check(ref) });
}

/** The two ways to fix it. */
function refuse(runtime: FoundRuntime, detail: string): RequestRefusal {
  const { name, descriptor, foundLogin, otherAddress } = runtime;
  if (otherAddress !== null && !runtime.login)
    return {
      kind: 'unavailable',
      detail,
      remedy: `In your own config.yaml (~/.config/caisson): runtimes.${name}.endpoint: "${otherAddress.url}"; or unset ${otherAddress.variable}.`,
    };
  // Another log-in would be the same key.
  if (foundLogin?.keyRef !== undefined)
    return {
      kind: 'unavailable',
      detail,
      remedy: `Your log-in (${foundLogin.path}) is an API key, which is used only by its name. In your own config.yaml (in ~/.config/caisson; jq must be there): runtimes.${name}.apiKey: "${foundLogin.keyRef}"; or set ${descriptor.keyEnv ?? 'a variable'} and leave --login out.`,
    };
  const key = `Set ${descriptor.keyEnv ?? 'a variable'}, or name your key in your own ~/.config/caisson/config.yaml (runtimes.${name}.apiKey: env:NAME)`;
  const isUsable = foundLogin?.problem === null;
  const login =
    descriptor.login === undefined
      ? ''
      : isUsable
        ? `; or use your log-in (${foundLogin.path}): --login, once. The agent can then read its token`
        : `; or log in with ${name} itself and give --login, once`;
  return {
    kind: 'unavailable',
    detail,
    remedy: `${key}${login}.`,
    ...(isUsable ? { offersLogin: { runtime: name, path: foundLogin.path } } : {}),
  };
}
