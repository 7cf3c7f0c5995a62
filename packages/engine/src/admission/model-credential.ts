/** Whether a run could identify itself to its model. Without that it would only fail later, and cost its setup. */
import type { Candidate } from './contract.ts';
import type { DispatchRooms, FoundRuntime } from './rooms.ts';
import type { RequestRefusal } from './request-checks.ts';

type Given = Pick<Candidate, 'runtime' | 'request' | 'envBundles'>;

export function findNoCredential(
  given: Given,
  { secrets }: Pick<DispatchRooms, 'secrets'>,
): RequestRefusal | null {
  const { runtime } = given;
  if (runtime.login) return findNoLogin(runtime);
  if (runtime.apiKeyRef !== null) {
    const problem = secrets.check(runtime.apiKeyRef);
    return problem === null ? null : { ...refuse(runtime, problem), kind: 'usage' };
  }
  if (runtime.api === 'none' || runtime.adapter !== null || runtime.endpoint !== null || hasOwnKey(given))
    return null;
  return refuse(runtime, `${runtime.name} has no key for its model`);
}

function findNoLogin(runtime: FoundRuntime): RequestRefusal | null {
  const { name, descriptor, foundLogin } = runtime;
  if (foundLogin?.problem === null) return null;
  if (descriptor.login === undefined) return refuse(runtime, `a run of ${name} cannot use a log-in`);
  const why =
    foundLogin === null
      ? `there is no ~/${descriptor.loginFiles.join(' or ~/')}`
      : `${foundLogin.path} cannot be used: ${foundLogin.problem}`;
  return refuse(runtime, `${name} is to use your log-in, but ${why}`);
}

/** The two ways to fix it. */
function refuse({ name, descriptor, foundLogin }: FoundRuntime, detail: string): RequestRefusal {
  const key = `Set ${descriptor.keyEnv ?? 'a variable'}, or name your key in your own config.yaml (runtimes.${name}.apiKey: env:NAME)`;
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

/** How the vendors name the variables for their keys. */
const VENDORS_KEY = /_(API_KEY|AUTH_TOKEN|OAUTH_TOKEN)$|^AWS_(BEARER_TOKEN_BEDROCK|ACCESS_KEY_ID)$/;

/** A variable that the run is given, by a name that the program knows. */
function hasOwnKey({ runtime, request, envBundles }: Given): boolean {
  const names = [
    ...Object.keys({ ...runtime.env, ...request.env, ...request.secrets }),
    ...envBundles.flatMap(({ values, secrets }) => Object.keys({ ...values, ...secrets })),
  ];
  const { keyEnv, otherKeyEnv } = runtime.descriptor;
  return names.some((name) => name === keyEnv || (otherKeyEnv?.includes(name) ?? VENDORS_KEY.test(name)));
}
