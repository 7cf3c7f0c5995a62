/** The trash, as others see it: what it deletes, when, and why. */

/** Why a folder is in the trash; without a mark it counts as unsaved. */
export type TrashMark =
  /** A checkpoint has all of it, except ignored files. */
  | 'saved'
  /** Nothing was done in it: it waits only to be removed when there is time. */
  | 'untouched'
  /** No agent has run in it. */
  | 'unused'
  /** Nothing else has it. */
  | 'unsaved';

/** The file in a trashed folder with its mark; its time is when it came there. */
export const MARK_FILE = 'trashed';

/** `age` and `size`: the limits of the trash; `asked`: a person wanted also the only copy gone. */
export type DeletionReason = 'age' | 'size' | 'asked';

export interface DeletedTrash {
  readonly path: string;
  readonly runId: string;
  /** On the disk. */
  readonly bytes: number;
  /** Null: it had nothing in it that is worth a word. */
  readonly why: DeletionReason | null;
}

export interface EmptyTrashOptions {
  readonly stateDir: string;
  /** What is saved or unused is deleted when it is older. */
  readonly trashTtlMs: number;
  /** And when all of it together takes more than this: the oldest first. */
  readonly trashBytes?: number;
  /** Also the only copy of work that is older. Default: never. */
  readonly heldBackTtlMs?: number;
  /** Deletes no more folders than this. */
  readonly oldest?: number;
  /** Looks into no folder: deletes only the oldest of what is too much, as far as it was measured before. */
  readonly onlySize?: boolean;
  /** Called with what could not be done, in words. */
  readonly onProblem?: (message: string) => void;
  /** Called for each deletion with a reason, after the files and before the last trace is gone; may be called again. */
  readonly onDeleted?: (deleted: DeletedTrash) => Promise<void>;
}

/** `kept`: the only copy of something. */
export interface EmptiedTrash {
  readonly deleted: readonly DeletedTrash[];
  readonly kept: readonly string[];
}
