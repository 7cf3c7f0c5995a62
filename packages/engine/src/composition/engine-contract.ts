import type { Budget } from '../budget/index.ts';
import type { SafeEventBus } from '../bus/index.ts';
import type { Callbacks } from '../callbacks/index.ts';
import type { SpareWorkers } from '../compute/index.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { DispatchRooms, Dispatcher } from '../admission/index.ts';
import type { Recovered } from '../recovery/index.ts';
import type { ResultSink } from '../evidence/index.ts';
import type { Hosts } from '../hosts/index.ts';
import type { EventFeed, Ledger, Recorder } from '../ledger/index.ts';
import type { Approvals } from '../questions/index.ts';
import type { Registry } from '../registry/index.ts';
import type { Sessions } from '../session/index.ts';
import type { MirroredStore, Store } from '../store/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { Workspaces } from '../workspace/index.ts';
import type { EndingMarks } from './ending-marks.ts';
import type { LiveStates } from './live-states.ts';
import type { Sealer } from './seal-evidence.ts';
import type { Clock, Stamp } from '@caisson/ground';

export interface Engine {
  readonly config: ResolvedConfig;
  /** The variables of this process, or of the one that asks. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly hostId: string;
  /** False: the project has no state folder, and nothing may be written into it. */
  readonly hasFolder: boolean;
  readonly ledger: Ledger;
  /** The one writer of durable events. */
  readonly recorder: Recorder;
  /** The one way to hear them. */
  readonly feed: EventFeed;
  /** How far the runs of this process are. */
  readonly live: Pick<LiveStates, 'read'>;
  /** Marks what is written into the state folder for a later process. */
  readonly stamp: Stamp;
  /** Recognises an ending that was recorded here. */
  readonly endings: EndingMarks;
  readonly store: Store;
  /** The same store, if it has a copy in a bucket. */
  readonly mirror: MirroredStore | null;
  readonly registry: Registry;
  readonly bus: SafeEventBus;
  readonly hosts: Hosts;
  readonly workspaces: Workspaces;
  readonly budget: Budget;
  readonly callbacks: Callbacks;
  readonly sessions: Sessions;
  readonly approvals: Approvals;
  readonly telemetry: Telemetry;
  readonly rooms: DispatchRooms;
  readonly sealer: Sealer;
  readonly dispatcher: Dispatcher;
  /** Starts to listen for orders; a process that only reads never does. Throws NoStateError without a state folder. */
  openPost(): Promise<void>;
  /** Makes what it listens on again if it was removed. */
  checkPost(): Promise<void>;
  /** This process is the daemon now: every recovery here adopts the runs whose workers go on. */
  beginAdopting(): void;
  /**
   * Settles what dead hosts left. `isRepeated`: for callers that check again and again; hosts that are not due are
   * skipped. `cancelled`: this run is ended in any case.
   */
  recover(options?: { readonly isRepeated?: boolean; readonly cancelled?: string }): Promise<Recovered>;
  close(): Promise<void>;
}

export interface EngineOptions {
  /** Version of Caisson, for the evidence. */
  readonly version?: string;
  /**
   * False for callers that read, or need an earlier run: a project without a state folder gets none, and is one without
   * runs. Nothing can be dispatched, registered or written on a board there. Default true.
   */
  readonly makesState?: boolean;
  /** Its workers go on without it, and wait for the next daemon. */
  readonly isDaemon?: boolean;
  /** Default: one of its own. */
  readonly bus?: SafeEventBus;
  /** Sealed results are also delivered here. */
  readonly sinks?: readonly ResultSink[];
  /** Where workers that wait come from. Default: one always waits for the next dispatch, once there was one. */
  readonly spareWorkers?: SpareWorkers;
}
