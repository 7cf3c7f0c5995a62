import type { AdmittedEvent } from '../admit-event.ts';
import type { CommitOptions } from '../commits.ts';
import type { EndingSigner } from '../ending-marks.ts';
import type { EventRecord } from '../event-record.ts';
import type { PackedError } from '../pack-error.ts';
import type { TurnMemory } from './write-turns.ts';

/** Which file a path named when it was opened. */
export interface FileIdentity {
  readonly ino: number;
  readonly dev: number;
}

/** What the thread is started with. */
export interface ThreadData {
  readonly file: string;
  readonly identity: FileIdentity;
  readonly patienceMs: number | undefined;
  readonly endings: EndingSigner | undefined;
  readonly turns: TurnMemory;
}

export type ToThread =
  | {
      readonly kind: 'append';
      readonly id: number;
      readonly events: readonly AdmittedEvent[];
      readonly options: CommitOptions;
    }
  | { readonly kind: 'close' };

/** Where an event was put; the caller has the rest of it. */
export type Place = Pick<EventRecord, 'seq' | 'offset' | 'prevOffset' | 'prevHash' | 'hash'>;

export type Answer =
  | {
      readonly kind: 'recorded';
      readonly id: number;
      /** A place for an event of the call, the record for one that was there before. */
      readonly events: readonly (Place | EventRecord)[];
      readonly countBefore: number;
    }
  | { readonly kind: 'refused'; readonly id: number; readonly error: PackedError };

export type FromThread =
  | { readonly kind: 'ready' }
  /** All answers of one commit, in its order. */
  | { readonly kind: 'committed'; readonly answers: readonly Answer[] };

export function isRecord(event: Place | EventRecord): event is EventRecord {
  return 'id' in event;
}
