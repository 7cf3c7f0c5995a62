/** What would happen if a run were asked for now, without a task. It changes nothing. */
import type { Grant, ModeMapping } from '@caisson/protocol';
import { describeProspect, type Prospect, type ProspectRooms } from './choose-runtime.ts';
import type { DispatchRequest, Refusal } from './contract.ts';
import { TaskRefusedError } from './errors.ts';
import { findCredential } from './model-credential.ts';
import type { FoundRuntime } from './rooms.ts';
import { RUNTIME_CHECKS, type RuntimeCheckRooms } from './runtime-checks.ts';
import { findUnenforcedLimit, listUnenforced, type EnforcedLimits } from './unenforced-limits.ts';

/** A run with this runtime: what it would use, and why it would be refused, if so. */
export interface RunPreview {
  readonly runtime: Pick<FoundRuntime, 'name' | 'bin' | 'endpoint' | 'login'>;
  /** What it identifies itself with, in words. */
  readonly uses: string;
  /** Empty: the program chooses. */
  readonly model: string;
  readonly mode: ModeMapping | null;
  readonly grant: Grant;
  /** Limits of the grant that cannot be enforced here. */
  readonly unenforced: readonly string[];
  readonly refusal: Refusal | null;
}

export type PreviewRooms = ProspectRooms &
  RuntimeCheckRooms & {
    probeLimits(): Promise<EnforcedLimits>;
  };

/** As admission decides it. A refusal without a runtime has no more to say. */
export async function previewRun(
  rooms: PreviewRooms,
  request: DispatchRequest,
): Promise<RunPreview | { readonly refusal: Refusal }> {
  try {
    const prospect = await describeProspect(rooms, request, null, []);
    const { runtime, model, grant } = prospect;
    const limits = await rooms.probeLimits();
    return {
      runtime,
      uses: findCredential(prospect, rooms).uses,
      model,
      mode: runtime.descriptor.modes[grant.mode],
      grant,
      unenforced: listUnenforced(grant.limits, limits),
      refusal: (await findRefusal(rooms, prospect)) ?? findRefusedLimit(rooms, prospect, limits),
    };
  } catch (error) {
    if (error instanceof TaskRefusedError) return { refusal: error.refusal };
    throw error;
  }
}

async function findRefusal(rooms: PreviewRooms, prospect: Prospect): Promise<Refusal | null> {
  for (const check of Object.values(RUNTIME_CHECKS)) {
    const refusal = await check.run(prospect, rooms);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** Such a run is accepted, and ends when its limits are set. */
function findRefusedLimit(
  { settings }: PreviewRooms,
  prospect: Prospect,
  limits: EnforcedLimits,
): Refusal | null {
  const detail = findUnenforcedLimit(settings, prospect, limits);
  return detail === null ? null : { check: 'limits-enforced', kind: 'policy', detail };
}
