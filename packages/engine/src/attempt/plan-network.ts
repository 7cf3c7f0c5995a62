/** The one way out that an attempt has: to its model, to granted hosts, and to services whose host is granted. */
import { definedOnly, type NetworkPlan } from '@caisson/protocol';
import { type AdmittedRun, type DispatchRooms, loginHosts, passesBroker } from '../admission/index.ts';

/**
 * What the worker opens on `socket`, with every key fetched; null when there is nothing to reach. Throws when a key
 * cannot be fetched.
 */
export async function planNetwork(
  rooms: DispatchRooms,
  run: AdmittedRun,
  socket: string,
): Promise<NetworkPlan | null> {
  const { grant, runtime } = run;
  const { endpoint, api, apiKeyRef } = runtime;
  const hosts = [...grant.hosts.filter((host) => host !== '*'), ...loginHosts(runtime)];
  const services = await findServices(rooms, grant.hosts);
  const hasModel = endpoint !== null && api !== 'none' && passesBroker(runtime);
  if (!hasModel && hosts.length === 0 && services.length === 0) return null;
  const apiKey = apiKeyRef === null || !hasModel ? null : await rooms.secrets.resolve(apiKeyRef);
  return {
    socket,
    hosts,
    model: hasModel ? { endpoint, api, apiKey, passesToken: runtime.login } : null,
    services,
    onLoopback: grant.sandbox === 'none' || grant.hosts.includes('*'),
  };
}

/** Only the grant decides what is reachable (invariant 6): a mapping adds a key to a granted host, never a host. */
async function findServices(
  { settings, secrets }: DispatchRooms,
  granted: readonly string[],
): Promise<NetworkPlan['services']> {
  const reachable = Object.entries(settings.services).filter(
    ([, { endpoint }]) => granted.includes('*') || granted.includes(hostRuleOf(endpoint)),
  );
  return Promise.all(
    reachable.map(async ([name, { endpoint, apiKey, header }]) => ({
      name,
      endpoint,
      apiKey: await secrets.resolve(apiKey),
      ...definedOnly({ header }),
    })),
  );
}

function hostRuleOf(endpoint: string): string {
  const url = new URL(endpoint);
  return `${url.hostname}:${url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port}`;
}
