/**
 * What a run would get beyond what the project gives every run. It is judged by what names stand for: an agent or a runtime
 * that one may name can bring secrets, hosts and a log-in. A key that the broker keeps outside is nothing of the run's.
 */
import { describeExcess } from '@caisson/policy';
import type { DispatchRequest, Grant } from '@caisson/protocol';
import type { Candidate, WorkspaceKind } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import type { RequestRefusal } from './request-checks.ts';

/** What a run may do and has, as far as the project bounds that. */
export interface Reach {
  readonly grant: Grant;
  readonly secrets: DispatchRequest['secrets'];
  readonly login: boolean;
  readonly workspaceKind: WorkspaceKind;
}

/** One sentence for each thing beyond the project. */
export function listBeyondProject(
  { grant, secrets = {}, login, workspaceKind }: Reach,
  hosts: readonly string[],
): string[] {
  return [
    ...describeExcess(grant, { ...grant, hosts: [...hosts], envs: [], sandbox: 'bwrap' }),
    ...Object.keys(secrets).map((name) => `secret ${name} is given to it`),
    ...(login ? ['it works with the log-in of the user'] : []),
    ...(workspaceKind === 'in-place' ? ['it works in the folder itself'] : []),
  ];
}

export function findBeyondProject(
  {
    request,
    runtime,
    grant,
    workspaceKind,
  }: Pick<Candidate, 'request' | 'runtime' | 'grant' | 'workspaceKind'>,
  { hosts }: Pick<DispatchRooms['settings'], 'hosts'>,
): RequestRefusal | null {
  if (request.within === undefined || isOwnFolder({ request, workspaceKind })) return null;
  const { secrets } = request;
  const beyond = listBeyondProject({ grant, secrets, login: runtime.login, workspaceKind }, hosts);
  if (beyond.length === 0) return null;
  return {
    kind: 'policy',
    detail: `asks for more than the project gives every run: ${beyond.join('; ')}`,
    remedy:
      'Name another agent or runtime, or let a person start it, or a token with the scope admin. With runtimes.NAME.apiKey the broker keeps a key outside.',
  };
}

/** Outside git the usual place of a run is the user's own folder, which nobody but a person gives to a run. */
export function findOwnFolder({
  request,
  workspaceKind,
}: Pick<Candidate, 'request' | 'workspaceKind'>): RequestRefusal | null {
  const isBounded = request.within !== undefined || request.parent !== undefined;
  if (!isBounded || !isOwnFolder({ request, workspaceKind })) return null;
  return {
    kind: 'policy',
    detail: 'the project is not in a git repository, so the run would change the files themselves',
    remedy: 'After git init it gets a copy of them; or let a person start it.',
  };
}

function isOwnFolder({ request, workspaceKind }: Pick<Candidate, 'request' | 'workspaceKind'>): boolean {
  return request.workspace === undefined && workspaceKind === 'in-place';
}
