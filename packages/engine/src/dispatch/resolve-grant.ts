/** What a run may do: asked for, filled in from the configuration, met with the parent's. */
import { getMode, meet } from '@caisson/policy';
import type { BudgetCaps, Grant, Limits } from '@caisson/protocol';
import type { DispatchRequest, DispatchSettings, FoundAgent } from './contract.ts';

export function resolveGrant(
  request: DispatchRequest,
  agent: FoundAgent | null,
  settings: DispatchSettings,
  workspaceRoot: string,
): Grant {
  const agentMode = agent?.definition['mode'];
  const mode = getMode(request.mode ?? (typeof agentMode === 'string' ? agentMode : settings.defaultMode));
  const asked: Grant = {
    mode,
    read: ['/'],
    write: mode === 'suggest' ? [] : [workspaceRoot],
    hosts: resolveHosts(request, settings),
    tools: [...(request.tools ?? listOf(agent?.definition['tools']))].toSorted(),
    limits: mergeLimits(settings.limits, request.limits),
    budget: mergeCaps(settings.budget, request.budget),
    depth: settings.depth,
    sandbox: request.sandbox ?? 'bwrap',
  };
  if (request.parent === undefined) return asked;
  const parent = request.parent.grant;
  return meet({ ...parent, depth: Math.max(0, parent.depth - 1) }, asked);
}

function resolveHosts(request: DispatchRequest, settings: DispatchSettings): string[] {
  switch (request.network?.kind) {
    case 'none':
      return [];
    case 'full':
      return ['*'];
    case 'hosts':
      return [...request.network.hosts].toSorted();
    case undefined:
      return [...settings.hosts].toSorted();
  }
}

function mergeLimits(defaults: Limits, asked: Limits | undefined): Limits {
  return { ...defaults, ...withoutUndefined(asked ?? {}) };
}

function mergeCaps(defaults: BudgetCaps, asked: BudgetCaps | undefined): BudgetCaps {
  return { ...defaults, ...withoutUndefined(asked ?? {}) };
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Partial<T>;
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}
