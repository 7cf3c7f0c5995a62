/** What a run may do: the request, filled in from the agent and the configuration, limited by the parent's grant. */
import { getMode, meet } from '@caisson/policy';
import { definedOnly, type BudgetCaps, type Grant, type Limits } from '@caisson/protocol';
import type { DispatchRequest } from './contract.ts';
import { expectsHandoff } from './expects-handoff.ts';
import type { DispatchSettings, FoundAgent, FoundEnvBundle } from './rooms.ts';

export function resolveGrant(
  request: DispatchRequest,
  agent: FoundAgent | null,
  settings: DispatchSettings,
  workspaceRoot: string,
  envBundles: readonly Pick<FoundEnvBundle, 'name' | 'hash'>[],
): Grant {
  const { mode: agentMode, tools, grant: own = {} } = agent?.definition ?? {};
  const mode = getMode(request.mode ?? agentMode ?? settings.defaultMode);
  // A child of an enclosed run is enclosed, whatever it asks for.
  const isOpen =
    request.sandbox === 'none' && (request.parent === undefined || request.parent.grant.sandbox === 'none');
  const asked: Grant = {
    mode,
    read: ['/'],
    write: mode === 'suggest' ? [] : [workspaceRoot],
    hosts: resolveHosts(request, own.hosts ?? defaultHosts(settings, isOpen)),
    tools: withHandoff(request, request.tools ?? tools ?? []),
    ...(envBundles.length === 0 ? {} : { envs: [...new Set(envBundles.map(envGrantName))].toSorted() }),
    limits: merge(settings.limits, own.limits, request.limits),
    budget: merge<BudgetCaps>(settings.budget, own.budget, request.budget),
    depth: Math.min(settings.depth, own.depth ?? settings.depth),
    sandbox: request.sandbox ?? 'bwrap',
  };
  if (request.parent === undefined) return asked;
  const parent = request.parent.grant;
  return meet({ ...parent, depth: Math.max(0, parent.depth - 1) }, asked);
}

/** A task whose hand-off is expected can give one; nothing else is granted with it. */
function withHandoff(request: DispatchRequest, tools: readonly string[]): string[] {
  const added = expectsHandoff(request) ? ['hand_off'] : [];
  return [...new Set([...tools, ...added])].toSorted();
}

/** A bundle as a grant names it: another version of it may bring other secrets. */
export function envGrantName({ name, hash }: Pick<FoundEnvBundle, 'name' | 'hash'>): string {
  return `${name}@${hash.slice(0, 12)}`;
}

function resolveHosts(request: DispatchRequest, defaults: readonly string[]): string[] {
  switch (request.network?.kind) {
    case 'none':
      return [];
    case 'full':
      return ['*'];
    case 'hosts':
      return [...request.network.hosts].toSorted();
    case undefined:
      return [...defaults].toSorted();
  }
}

/** Without a sandbox every host can be reached, so that is granted unless less was requested. */
function defaultHosts({ hosts }: DispatchSettings, isOpen: boolean): readonly string[] {
  return isOpen && hosts.length === 0 ? ['*'] : hosts;
}

/** Configuration < agent < caller, member by member. */
function merge<T extends Limits | BudgetCaps>(defaults: T, own: T | undefined, asked: T | undefined): T {
  return { ...defaults, ...definedOnly(own ?? {}), ...definedOnly(asked ?? {}) };
}
