import { CaissonError } from '@caisson/protocol';

/** The process that owned the run is gone. */
export class HostUnreachableError extends CaissonError {
  readonly code = 'HOST_UNREACHABLE';
}
