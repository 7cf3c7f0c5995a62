/** What a dispatched run would get beyond its parent by other ways than its grant: credentials inside. */
import type { AdmittedRun } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import type { RequestRefusal } from './request-checks.ts';
import { envGrantName } from './resolve-grant.ts';

/**
 * The limited grant has only what both have; what an agent would bring beyond that is refused, never left out silently.
 */
export function findBundleBeyondParent({
  grant,
  request,
  agent,
  envBundles,
}: Pick<AdmittedRun, 'grant' | 'request' | 'agent' | 'envBundles'>): RequestRefusal | null {
  if (request.parent === undefined) return null;
  const beyond = envBundles.map(envGrantName).filter((name) => !(grant.envs ?? []).includes(name));
  if (beyond.length === 0) return null;
  const who = agent === null ? 'it' : `agent ${agent.name}`;
  return {
    kind: 'policy',
    detail: `${who} brings the env bundle ${beyond.join(', ')}, which its parent ${request.parent.runId} does not have`,
    remedy:
      'Give the parent the same bundle (--env-bundle, or envs of its agent), or dispatch another agent.',
  };
}

/** A log-in is mounted into the sandbox: an agent that may write the task may have it read. */
export function findLoginBeyondParent(
  { request, runtime }: Pick<AdmittedRun, 'request' | 'runtime'>,
  { ledger }: Pick<DispatchRooms, 'ledger'>,
): RequestRefusal | null {
  if (request.parent === undefined || !runtime.login) return null;
  const { runId } = request.parent;
  if (ledger.run(runId)?.runtime === runtime.name) return null;
  return {
    kind: 'policy',
    detail: `${runtime.name} works with a log-in that its parent ${runId} does not have`,
    remedy: `Use runtimes.${runtime.name}.apiKey instead of a log-in: the broker keeps a key outside.`,
  };
}
