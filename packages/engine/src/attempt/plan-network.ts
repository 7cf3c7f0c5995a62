/** The one way out that an attempt has: to its model, to granted hosts, and to services whose host is granted. */
import { definedOnly } from '@caisson/protocol';
import {
  type AdmittedRun,
  type DispatchRooms,
  type NetworkDoor,
  type OpenedNetwork,
  loginHosts,
  passesBroker,
} from '../admission/index.ts';
import type { RunRecord } from '../ledger/index.ts';

/** A denial is reported once per target and reason, and not at all after this many. */
const MAX_REPORTED_DENIALS = 64;

type OpenOptions = Parameters<NetworkDoor['open']>[0];
type NetworkPlan = Pick<OpenOptions, 'hosts' | 'model' | 'services' | 'onLoopback'>;

/** What to open, with every key fetched; null when there is nothing to reach. Throws when a key cannot be fetched. */
export async function planNetwork(rooms: DispatchRooms, run: AdmittedRun): Promise<NetworkPlan | null> {
  const { grant, runtime } = run;
  const { endpoint, api, apiKeyRef } = runtime;
  const hosts = [...grant.hosts.filter((host) => host !== '*'), ...loginHosts(runtime)];
  const services = await findServices(rooms, grant.hosts);
  const hasModel = endpoint !== null && api !== 'none' && passesBroker(runtime);
  if (!hasModel && hosts.length === 0 && services.length === 0) return null;
  const apiKey = apiKeyRef === null || !hasModel ? null : await rooms.secrets.resolve(apiKeyRef);
  return {
    hosts,
    model: hasModel ? { endpoint, api, apiKey, passesToken: runtime.login } : null,
    services,
    onLoopback: grant.sandbox === 'none' || grant.hosts.includes('*'),
  };
}

export async function openNetwork(
  rooms: DispatchRooms,
  plan: NetworkPlan | null,
  record: RunRecord,
  where: Pick<OpenOptions, 'runId' | 'attempt' | 'socketPath' | 'secrets'>,
): Promise<OpenedNetwork | null> {
  if (plan === null) return null;
  const { attempt } = where;
  const denied = new Set<string>();
  return rooms.network.open({
    ...plan,
    ...where,
    onConnection: (data) => {
      record.keep('network.connection', data, { attempt });
      const { target, verdict, via, detail } = data;
      const what = `connection to ${target}: ${detail ?? 'refused'}`;
      if (verdict !== 'denied' || denied.has(what) || denied.size >= MAX_REPORTED_DENIALS) return;
      denied.add(what);
      const rule = via === 'broker' ? 'broker' : 'network.hosts';
      const denial = { layer: 'network', what, actionClass: 'network', rule } as const;
      record.keep('policy.denied', { denial }, { attempt });
    },
  });
}

/** Only the grant decides what is reachable (invariant 6): a mapping adds a key to a granted host, never a host. */
async function findServices(
  { settings, secrets }: DispatchRooms,
  granted: readonly string[],
): Promise<OpenOptions['services']> {
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
