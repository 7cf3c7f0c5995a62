import { parseRemoteAddress, type RemoteAccess } from '@caisson/ground';
import { definedOnly, type DispatchRequest } from '@caisson/protocol';
import type { DispatchRooms } from '../admission/index.ts';
import type { RemoteOrder } from '../workspace/index.ts';

/** How the remote of a run is reached. The token is fetched for each connection, and is in memory only while it lasts. */
export async function resolveRemote(
  { settings, secrets }: Pick<DispatchRooms, 'settings' | 'secrets'>,
  { repo, gitToken }: Pick<DispatchRequest, 'repo' | 'gitToken'>,
): Promise<Omit<RemoteOrder, 'signal'>> {
  const { knownHosts, identity, agentSocket, timeoutMs } = settings.git;
  const token = gitToken === undefined ? undefined : await secrets.resolve(gitToken);
  const access: RemoteAccess = definedOnly({ token, knownHosts, identity, agentSocket });
  return {
    stateDir: settings.stateDir,
    remote: parseRemoteAddress(repo ?? '', settings.cwd),
    access,
    timeoutMs,
  };
}
