/**
 * What a check after the agent reads.
 *
 * L1  A clean room is the default: a check that passed there is only about the patch.
 * L2  In place there is no copy of the project beside the agent's, so unlisted ignored dependencies would be missing;
 *     without a sandbox the agent can reach everything. There the default is the workspace, with a warning.
 * L3  A requested clean room that cannot be built is refused, never replaced.
 */
import type { Grant, PipelineSpec, ScriptLens } from '@caisson/protocol';
import type { AdmittedRun, Candidate, Refusal, WorkspaceKind } from './contract.ts';
import { NO_ATTEMPT, type RunRecord } from '../ledger/index.ts';

/** L1, L2 */
export function defaultLens(workspace: WorkspaceKind, { sandbox }: Pick<Grant, 'sandbox'>): ScriptLens {
  return workspace === 'in-place' || sandbox === 'none' ? 'verify' : 'clean-room';
}

export function hasCleanRoom({ blocks }: PipelineSpec): boolean {
  return blocks.some((block) => block.kind === 'script' && block.lens === 'clean-room');
}

/** L3 */
export function findImpossibleCleanRoom({ pipeline, grant }: Candidate): Omit<Refusal, 'check'> | null {
  if (grant.sandbox !== 'none' || !hasCleanRoom(pipeline)) return null;
  return {
    kind: 'policy',
    detail: 'a clean room needs the sandbox: without one the agent can reach everything',
    remedy: 'Leave out --sandbox none, or use --verify-lens verify.',
  };
}

/** A lens without a check. */
export function findLensWithoutCheck({ request, agent }: Candidate): Omit<Refusal, 'check'> | null {
  const { verify, verifyLens, pipeline } = request;
  const isDefault = pipeline === undefined && agent?.definition.pipeline === undefined;
  const hasCheck = verify !== undefined || agent?.definition.verify !== undefined;
  if (verifyLens === undefined || (isDefault && hasCheck)) return null;
  return {
    kind: 'usage',
    detail: isDefault
      ? 'a lens for the check was given (--verify-lens), but no check (--verify)'
      : 'a lens for the check was given (--verify-lens), but a declared pipeline names its own',
    remedy: isDefault ? 'Name a command: --verify "npm test".' : 'Set `lens` in the pipeline.',
  };
}

/** L2: the run's record shows that the check is about the workspace, and what to do about it. */
export async function warnOfWeakerVerify(run: AdmittedRun, record: RunRecord): Promise<void> {
  const { pipeline, grant, workspaceKind, request, agent } = run;
  const isChosen = (request.verifyLens ?? agent?.definition.verify?.lens) !== undefined;
  if (isChosen || pipeline.id !== 'caisson.default' || defaultLens(workspaceKind, grant) !== 'verify') return;
  if (!pipeline.blocks.some((block) => block.kind === 'script')) return;
  const why =
    grant.sandbox === 'none'
      ? 'without a sandbox there is no clean room'
      : 'in place, --verify-lens clean-room checks the patch alone (dependencies must then be in workspace.include or made by workspace.setup)';
  const message = `verify runs in the workspace as the agent leaves it: ${why}`;
  await record.append('warning', { source: 'verify', message }, NO_ATTEMPT);
}
