import { definedOnly, type Grant } from '@caisson/protocol';
import type { ThreadSettings } from './thread-rooms.ts';

/**
 * The most that a run of the workflow may do; each run's own grant is met with it. No env bundle: a role writes the task, and
 * could have its secrets read.
 */
export function composeRunGrant(
  { mode, runHosts, runBudgetUsd, runTokens }: ThreadSettings,
  { projectRoot, depth }: { readonly projectRoot: string; readonly depth: number },
): Grant {
  return {
    mode,
    read: ['/'],
    write: mode === 'suggest' ? [] : [projectRoot],
    hosts: [...runHosts],
    tools: ['*'],
    limits: {},
    budget: definedOnly({ usd: runBudgetUsd ?? undefined, tokens: runTokens ?? undefined }),
    depth: depth + 1, // the workflow is one level above its runs
    sandbox: 'bwrap',
  };
}
