/** W2: work that no checkpoint has, because of the run's own ignore rules or rules of the user. It is held back, and named. */
import { join } from 'node:path';
import { shellQuote, type WorkBeside } from '@caisson/protocol';

import type { PreparedWorkspace } from './contract.ts';
import { heldBackPlace } from './held-back.ts';
import { findHiddenWork } from './hidden-work.ts';
import { findUnreadWork } from './hiding.ts';
import { nameSome } from './name-some.ts';

const MAX_NAMED = 32;

interface Unread {
  readonly why: string;
  readonly paths: readonly string[];
}

/** W2: what no checkpoint has, because of the run's own ignore rules or rules of the user. */
export async function findUnread(
  prepared: PreparedWorkspace,
  staged: { isFirst?: boolean | undefined; hidden?: readonly string[] | undefined },
): Promise<Unread[]> {
  const ignored = staged.isFirst === true ? [] : await findHiddenWork(prepared);
  return [
    { why: 'ignored by rules that the run wrote', paths: ignored },
    { why: 'hidden by no-access rules', paths: findUnreadWork(prepared, staged) },
  ].filter(({ paths }) => paths.length > 0);
}

export function describeUnread(prepared: PreparedWorkspace, { why, paths }: Unread): WorkBeside[] {
  const rest = paths.length - MAX_NAMED;
  const reported = paths.slice(0, MAX_NAMED).map((path) => ({
    what: `${path} (${why})`,
    get: `cp -r ${shellQuote(join(heldBackPlace(prepared), path))} .`,
  }));
  if (rest <= 0) return reported;
  const more = {
    what: `${rest} more such files`,
    get: `cp -r ${shellQuote(`${heldBackPlace(prepared)}/.`)} .`,
  };
  return [...reported, more];
}

export function describeAllUnread(prepared: PreparedWorkspace, { why, paths }: Unread): string {
  return `${why}, so not in the patch: ${nameSome(paths)}; get all: cp -r ${shellQuote(`${heldBackPlace(prepared)}/.`)} .`;
}
