import { createRedactor } from '@caisson/ground';
import type { AdmittedRun } from './contract.ts';
import type { RequestRefusal } from './request-checks.ts';
import type { DispatchRooms } from './rooms.ts';

/** A branch is pushed, and its name is in every record: a secret in it is refused before the branch exists. */
export async function findSecretInBranch(
  { request, envBundles, runtime }: Pick<AdmittedRun, 'request' | 'envBundles' | 'runtime'>,
  { secrets }: Pick<DispatchRooms, 'secrets'>,
): Promise<RequestRefusal | null> {
  const { branch } = request;
  if (branch === undefined) return null;
  const refs = [
    ...envBundles.flatMap((bundle) => Object.entries(bundle.secrets)),
    ...Object.entries(request.secrets ?? {}),
    ...(runtime.apiKeyRef === null ? [] : [['the model key', runtime.apiKeyRef] as const]),
    ...(request.gitToken === undefined ? [] : [['the token of git', request.gitToken] as const]),
  ];
  for (const [name, ref] of refs) {
    const value = await secrets.resolve(ref).catch(() => ''); // a missing secret is reported when it is needed
    if (createRedactor([{ name, value }]).redact(branch) === branch) continue;
    return {
      kind: 'usage',
      detail: `the name of the branch contains the value of the secret ${name}`,
      remedy: 'Choose another name for --branch.',
    };
  }
  return null;
}
