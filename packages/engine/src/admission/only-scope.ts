import { findScopePlace } from '@caisson/policy';
import type { Candidate } from './contract.ts';
import type { RequestRefusal } from './request-checks.ts';

/** A scope that mounts cannot enforce is refused; it never becomes a weaker one (invariant 5). */
export function findUnenforceableScope({ request, grant }: Candidate): RequestRefusal | null {
  if (request.outsideScope !== 'read-only') return null;
  const { scope = [] } = request;
  const anywhere = scope.find((pattern) => findScopePlace(pattern) === null);
  const why =
    grant.sandbox === 'none'
      ? 'needs a sandbox'
      : scope.length === 0
        ? 'needs a scope'
        : anywhere === undefined
          ? null
          : `needs a scope of files and folders, and "${anywhere}" may be anywhere`;
  if (why === null) return null;
  const remedy = "Name folders (--scope 'src/**'), or use --outside-scope refuse-push.";
  return { kind: 'usage', detail: `outsideScope: read-only ${why}`, remedy };
}
