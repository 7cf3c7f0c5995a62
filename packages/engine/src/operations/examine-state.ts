/** Whether the state folder may be opened, as a finding of the doctor; its content is not used. */
import { accessSync, constants } from 'node:fs';
import { markersFolder } from '../config/index.ts';
import { nearestExisting, type ProbeReport } from '../discovery/index.ts';
import { inspectStateFolder, type StatePlace } from '../trust/index.ts';

const ID = 'state-folder';

const UNKNOWN: ProbeReport = {
  id: ID,
  verdict: 'fail',
  detail: 'the state folder is not known while the configuration cannot be read',
  remedy: 'Correct the configuration, or name the folder with --state-dir.',
};

/** Null when there is nothing to find: the folder is ours, or can be made. */
export function examineState(place: StatePlace, { isKnown = true } = {}): ProbeReport | null {
  if (!isKnown) return UNKNOWN;
  const standing = inspectStateFolder(place);
  if (standing.kind === 'ours') return null;
  if (standing.kind === 'absent') return examineMarkers(place);
  return { id: ID, verdict: 'fail', detail: standing.detail, remedy: standing.remedy };
}

function examineMarkers({ folders }: StatePlace): ProbeReport | null {
  const folder = markersFolder(folders.state);
  try {
    accessSync(nearestExisting(folder), constants.W_OK);
    return null;
  } catch (error) {
    return {
      id: ID,
      verdict: 'fail',
      detail: `${folder} cannot be written (${(error as NodeJS.ErrnoException).code ?? ''}), and a state folder needs it`,
      remedy: 'Set XDG_STATE_HOME to a folder of this user that can be written and that is kept.',
    };
  }
}
