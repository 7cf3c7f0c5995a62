/** What the main thread and a thread with the user's code say to each other, as JSON text. */
import type {
  ComputeCause,
  EmittedSignal,
  GuestFailure,
  GuestLine,
  GuestOrder,
  StepOutcome,
  StepRequest,
} from '@caisson/protocol';
import type { TicketMemory } from './tickets.ts';

/** What a thread is started with. */
export interface ThreadStart {
  readonly serves: 'senses' | 'workflow';
  readonly name: string;
  readonly file: string;
  readonly projectRoot: string;
  readonly stateFolder: string;
  readonly writable: readonly string[];
  /** Which compute has begun (tickets.ts). */
  readonly tickets: TicketMemory;
}

/** What earlier threads of the same module have loaded. */
export interface PinnedFiles {
  /** Where each import leads. */
  readonly ways: ReadonlyMap<string, { readonly url: string; readonly format: string | null }>;
  /** By address. */
  readonly sources: ReadonlyMap<string, { readonly format: string | null; readonly source: string }>;
}

export type TurnOrder = Extract<GuestOrder, { readonly kind: 'turn' }>;
export type TurnEnding = Extract<GuestLine, { readonly kind: 'turned' }>['outcome'];

export type ThreadOrder =
  | {
      readonly kind: 'compute';
      /** Counted for each thread. The next one is sent while one is under way, and begins when that is over. */
      readonly number: number;
      readonly computeId: string;
      readonly covers?: readonly string[] | undefined;
      readonly cause: ComputeCause;
      readonly origin: string;
    }
  | { readonly kind: 'delivered'; readonly computeIds: readonly string[] }
  | { readonly kind: 'turn'; readonly turn: TurnOrder }
  | { readonly kind: 'step-done'; readonly ordinal: number; readonly outcome: StepOutcome }
  /** `number`: of a compute; one that is over is not meant. */
  | { readonly kind: 'abort'; readonly why: string; readonly number?: number | undefined }
  /** Answered with `pong`, unless the user's code does not give the thread back. */
  | { readonly kind: 'ping' };

export type ThreadLine =
  | { readonly kind: 'loaded'; readonly problem?: string }
  /** It resolved an import, or read a file, that was not pinned. */
  | { readonly kind: 'pinned'; readonly way: string; readonly url: string; readonly format: string | null }
  | { readonly kind: 'pinned'; readonly url: string; readonly format: string | null; readonly source: string }
  | {
      readonly kind: 'computed';
      readonly number: number;
      readonly signals: readonly EmittedSignal[];
      readonly failure?: GuestFailure;
    }
  | {
      readonly kind: 'undelivered';
      readonly computeId: string;
      readonly origin: string;
      readonly signals: EmittedSignal[];
    }
  | { readonly kind: 'step'; readonly ordinal: number; readonly request: StepRequest }
  | { readonly kind: 'worked'; readonly ordinal: number; readonly ok: boolean; readonly value: unknown }
  /** The router has named it, and it begins. */
  | { readonly kind: 'role'; readonly name: string }
  | { readonly kind: 'turned'; readonly outcome: TurnEnding }
  | { readonly kind: 'logged'; readonly text: string }
  | { readonly kind: 'pong' };
