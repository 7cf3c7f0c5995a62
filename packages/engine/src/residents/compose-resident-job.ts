/** The job of one start: the worker's whole input. */
import { randomBytes } from 'node:crypto';
import type { Bind, NetworkPlan, ResidentJob } from '@caisson/protocol';
import { definedOnly } from '@caisson/protocol';
import type { DispatchSettings } from '../admission/index.ts';
import type { ResidentPlan } from './contract.ts';
import { residentPaths, startPaths } from './resident-paths.ts';

export type StarterSettings = Pick<
  DispatchSettings,
  'projectRoot' | 'stateDir' | 'home' | 'homeBytes' | 'tmpBytes' | 'path' | 'hostEnv'
> & { readonly programs: { readonly relay: readonly string[]; readonly guest: readonly string[] } };

export interface ResidentTimes {
  readonly readyMs: number;
  readonly unresponsiveMs: number;
}

export interface ResidentJobParts {
  readonly resident: string;
  readonly hide: readonly string[];
  readonly binds: readonly Bind[];
  readonly cgroup: readonly string[];
  readonly times: ResidentTimes;
}

export function composeResidentJob(
  settings: StarterSettings,
  plan: ResidentPlan,
  { resident, hide, binds, cgroup, times }: ResidentJobParts,
): ResidentJob {
  const { read, write, hosts, limits } = plan.grant;
  const { relay, guest } = settings.programs;
  return {
    schemaVersion: 1,
    kind: plan.kind,
    resident,
    key: plan.key,
    nonce: randomBytes(32).toString('hex'),
    modules: [...plan.modules],
    grant: { read: [...read], write: [...write], hosts: [...hosts], limits: definedOnly(limits) },
    writable: [...plan.writable],
    network: planNetwork(hosts, startPaths(settings.stateDir, resident).netSocket),
    sandbox: {
      projectRoot: settings.projectRoot,
      hide: [...hide],
      binds: [...binds],
      home: settings.home,
      homeBytes: settings.homeBytes,
      tmpBytes: settings.tmpBytes,
      env: { ...settings.hostEnv, PATH: settings.path },
      programs: { relay: [...relay], guest: [...guest] },
    },
    paths: { ...residentPaths(settings.stateDir, plan.key), cgroup: [...cgroup] },
    ...times,
  };
}

/** The way to the granted hosts; null where there is none, or nothing is in the way. */
function planNetwork(granted: readonly string[], socket: string): NetworkPlan | null {
  const hosts = granted.filter((host) => host !== '*');
  return hosts.length === 0 || hosts.length < granted.length
    ? null
    : { socket, hosts, model: null, services: [], onLoopback: false };
}
