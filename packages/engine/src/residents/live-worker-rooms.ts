/** What a live worker needs, and whom it reports to. */
import type { Clock } from '@caisson/ground';
import type { ResidentEnding, ResidentLine } from '@caisson/protocol';
import type { ResidentStarter } from './contract.ts';
import type { LiveWorker } from './live-worker.ts';
import type { RuntimeLimits } from './runtime-limits.ts';
import type { Work } from './work.ts';

/** A start that is not wanted any more has so long to end. */
export const START_LIMIT_MS = 5000;

export interface LiveWorkerRooms {
  readonly starter: Pick<ResidentStarter, 'start'>;
  readonly clock: Clock;
  readonly limits: RuntimeLimits;
  nextId(): string;
}

export interface LiveWorkerListener {
  /** It is ready; called again for each file that was still being loaded then. */
  onReady(worker: LiveWorker): void;
  onReport(line: Extract<ResidentLine, { kind: 'logged' | 'log-dropped' | 'undelivered' }>): void;
  /** Nothing has been under way for `idleMs`; called once a beat until there is work. */
  onIdle(worker: LiveWorker): void;
  onEnded(worker: LiveWorker, ending: ResidentEnding, unanswered: readonly Work[]): void;
}
