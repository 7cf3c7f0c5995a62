/** Which credentials of the user would go to an address that the project's file names. */
import { parseRemoteAddress, RemoteAddressError } from '@caisson/ground';
import { describeConfiguredRuntime, type ConfigFile } from '@caisson/protocol';
import type { KeySend } from './contract.ts';

export function findKeySends(project: ConfigFile, user: ConfigFile): KeySend[] {
  return [
    ...Object.keys(project.runtimes ?? {}).flatMap((name) => sendsOfRuntime(name, project, user)),
    ...Object.entries(project.network?.services ?? {}).map(([name, { endpoint, apiKey }]) => ({
      by: `network.services.${name}`,
      credential: apiKey,
      to: originOf(endpoint),
    })),
    ...(project.callbacks ?? []).flatMap(({ url, authorization }, index) =>
      authorization === undefined
        ? []
        : [{ by: `callbacks[${index}]`, credential: authorization, to: originOf(url) }],
    ),
    ...Object.values(project.telemetry?.headers ?? {}).map((credential) => ({
      by: 'telemetry',
      credential,
      to: originOf(project.telemetry?.endpoint ?? ''),
    })),
    ...sendsOfGit(project, user),
    ...sendsOfBundles(project),
    ...(project.store?.s3?.endpoint === undefined
      ? []
      : [{ by: 'store.s3', credential: 'your AWS credentials', to: originOf(project.store.s3.endpoint) }]),
  ];
}

/** A token goes to an http or https address alone, and to none that is refused anyway. */
function sendsOfGit({ git: asked = {} }: ConfigFile, { git: own = {} }: ConfigFile): KeySend[] {
  const credential = asked.token ?? own.token;
  const to = originOfRemote(asked.url);
  if (credential === undefined || to === undefined || to === originOfRemote(own.url)) return [];
  return [{ by: 'git', credential, to }];
}

function originOfRemote(url = ''): string | undefined {
  try {
    return parseRemoteAddress(url, '/').origin;
  } catch (error) {
    if (error instanceof RemoteAddressError) return undefined;
    throw error;
  }
}

/** A secret that the project puts into the environment can go to every host that the project grants. */
function sendsOfBundles(project: ConfigFile): KeySend[] {
  const agents = Object.values(project.agents ?? {});
  const hosts = new Set([
    ...(project.network?.hosts ?? []),
    ...agents.flatMap(({ grant }) => grant?.hosts ?? []),
  ]);
  return Object.entries(project.envs ?? {}).flatMap(([name, { secrets = {} }]) =>
    Object.values(secrets).flatMap((credential) =>
      [...hosts].map((host) => ({ by: `envs.${name}`, credential, to: `tcp://${host}` })),
    ),
  );
}

/** The vendor's own address, and one that the user's file names as well, are expected. */
function sendsOfRuntime(name: string, project: ConfigFile, user: ConfigFile): KeySend[] {
  const [asked, own] = [project.runtimes?.[name] ?? {}, user.runtimes?.[name] ?? {}];
  if (asked.endpoint === undefined) return [];
  const descriptor = describeConfiguredRuntime(name, {
    bin: asked.bin ?? own.bin,
    settings: { ...own.settings, ...asked.settings },
  });
  const to = originOf(asked.endpoint);
  const known = [own.endpoint, descriptor?.defaultEndpoint].flatMap((url) =>
    url === undefined ? [] : [originOf(url)],
  );
  if (known.includes(to)) return [];
  const key =
    asked.apiKey ?? own.apiKey ?? (descriptor?.keyEnv === undefined ? undefined : `env:${descriptor.keyEnv}`);
  return [
    ...(key === undefined ? [] : [{ by: `runtimes.${name}`, credential: key, to }]),
    // Also before the user agreed to its use: --login asks nothing about the address.
    ...(descriptor?.login === undefined
      ? []
      : [{ by: `runtimes.${name}`, credential: `your log-in of ${name}`, to }]),
  ];
}

function originOf(url: string): string {
  return new URL(url).origin;
}
