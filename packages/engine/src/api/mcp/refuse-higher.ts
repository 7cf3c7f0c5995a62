/** A run that continues with an answer gets what the first one asked for: an answer must not bring more than a dispatch (M2). */
import type { DispatchRequest, DispatchResult } from '@caisson/protocol';
import type { Caisson } from '../../caisson-contract.ts';
import { PLAIN_MEMBERS } from '../plain-members.ts';
import type { McpBounds } from './contract.ts';
import { GrantExceededError } from './errors.ts';
import { listHostsBeyond, rank } from './grant-request.ts';

/** Members that are judged here by what the run got, or that give it nothing. */
const JUDGED = ['sandbox', 'network', 'workspace'];
const NAMING = ['runId', 'taskId', 'pool', 'trace', 'schedule', 'answer', 'outsideScope'];
const ALLOWED = new Set([...PLAIN_MEMBERS, ...JUDGED, ...NAMING]);
/** An attempt is launched soon after its run was accepted. */
const FIRST_EVENTS = 100;

type Rooms = Pick<Caisson, 'registry' | 'config' | 'continuation' | 'events'>;

export async function refuseHigher(
  caisson: Rooms,
  { mode, runUsd }: McpBounds,
  leftUsd: number | null,
  { runId, result }: DispatchResult,
): Promise<void> {
  const grant = result?.policy.grant;
  if (grant === undefined) return; // it has not ended, so the contract refuses
  const refuse = (why: string): never => {
    throw new GrantExceededError(`${runId} ${why}`, {
      remedy: `A person can answer it: caisson answer ${runId} "…"`,
    });
  };
  if (grant.sandbox === 'none') refuse('has no sandbox, and such a run is never started over MCP'); // M6
  if (rank(grant.mode) > rank(mode)) refuse(`has mode ${grant.mode}, above ${mode}, the limit here`);
  const limits = [runUsd, leftUsd].filter((limit) => limit !== null);
  const usd = Math.min(...limits);
  if (limits.length > 0 && (grant.budget.usd ?? Infinity) > usd)
    refuse(`may spend more than ${usd} USD, the limit here`);
  const request = await caisson.continuation(runId, null);
  const more = listMore(request);
  if (more.length > 0) refuse(`was given ${more.join(', ')}, which no run gets over MCP`);
  const hosts = await listHostsBeyond(caisson, request.agent, grant.hosts);
  if (hosts.length > 0) refuse(`reaches ${hosts.join(', ')}, which the project does not grant`);
  if (await worksInPlace(caisson, runId)) refuse('works in the own folder of the user, and not on a copy'); // M6
}

/** Members with a value that a client could not have asked for. */
function listMore(request: DispatchRequest): string[] {
  return Object.entries(request)
    .filter(([name, value]) => !ALLOWED.has(name) && !isEmpty(value))
    .map(([name]) => name);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

async function worksInPlace(caisson: Rooms, runId: string): Promise<boolean> {
  const events = await caisson.events(runId, { limit: FIRST_EVENTS });
  return events.some((event) => event.type === 'attempt.launched' && event.workspace?.kind === 'in-place');
}
