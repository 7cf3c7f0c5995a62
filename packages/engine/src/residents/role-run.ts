/** What a role may ask of a run, checked, and how it learns of the ending. */
import { definedOnly, type DispatchResult, type EndedRun, type RoleRun } from '@caisson/protocol';
import { parseRequest, type DispatchRequest } from '../admission/index.ts';
import type { Ledger } from '../ledger/index.ts';

/** A reply is cut to this, so that a history holds many; those of one `wait` have this together. */
const MAX_REPLY_CHARACTERS = 32_768;
const MAX_REPLIES_CHARACTERS = 262_144;

const FIELDS: Readonly<Record<keyof RoleRun, true>> = {
  task: true,
  agent: true,
  runtime: true,
  model: true,
  mode: true,
  argv: true,
  base: true,
  branch: true,
  verify: true,
  scope: true,
  timeoutMs: true,
  keepWork: true,
};

/** Throws TaskRefusedError, or an Error that says what is wrong. Only the fields of `RoleRun` pass. */
export function parseRoleRun(asked: Readonly<Record<string, unknown>>): DispatchRequest {
  const stray = Object.keys(asked).find((name) => !Object.hasOwn(FIELDS, name));
  if (stray !== undefined)
    throw new Error(`a run of a role has no "${stray}"; it has ${Object.keys(FIELDS).join(', ')}`);
  return parseRequest(asked);
}

/** `runs`: how many are waited for together. */
export function toEndedRun(
  ledger: Pick<Ledger, 'read'>,
  { runId, status, reply, failure, asked, branch }: DispatchResult,
  patchBytes: number | undefined,
  runs: number,
): EndedRun {
  const longest = Math.min(MAX_REPLY_CHARACTERS, Math.floor(MAX_REPLIES_CHARACTERS / runs));
  return definedOnly<EndedRun>({
    runId,
    mode: ledger.read({ runId, types: ['dispatch.accepted'] })[0]?.data.grant.mode,
    status,
    reply: reply.length > longest ? `${reply.slice(0, longest)}…` : reply,
    failure: failure === undefined ? undefined : { reason: failure.reason, detail: failure.detail },
    question: asked?.question,
    branch: branch?.name,
    patchBytes,
  });
}
