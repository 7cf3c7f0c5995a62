/** How the model has answered so far: what failed last and how often in a row, how long it took, what it called. */
import type { Clock } from '@caisson/ground';
import type { ModelError, ObservedUsage } from '@caisson/protocol';

/** What became of one request. */
export type Outcome =
  | {
      readonly kind: 'answered';
      /** Tools that the answer called. */
      readonly calls: readonly string[];
      isForTask(): boolean;
    }
  /** A whole answer that says and calls nothing. */
  | { readonly kind: 'empty' }
  | {
      readonly kind: 'failed';
      readonly cause: ModelError;
      readonly detail: string;
      /** Whether it was asked for the task, and not beside it. */
      isForTask(): boolean;
    }
  /** The client went away: that says nothing of the model. */
  | { readonly kind: 'left' };

export interface ModelStanding {
  begin(): void;
  end(outcome: Outcome): void;
  called(): void;
  readonly underWay: number;
  read(): Omit<
    ObservedUsage,
    'answers' | 'estimated' | 'isWhole' | 'refusals' | 'lastStop' | 'byModel' | 'pending' | 'unreachedMs'
  >;
}

export function createModelStanding(clock: Clock): ModelStanding {
  let underWay = 0;
  let failedInRow = 0;
  let hasAnswered = false;
  let hasTaskFailed = false;
  let lastFailure: ObservedUsage['lastFailure'] = null;
  let toolCalls = 0;
  let openTool: string | null = null;
  let modelMs = 0;
  let busySinceMs = 0;

  const busyMs = (): number => (underWay === 0 ? 0 : clock.monotonicMs() - busySinceMs);
  const take = (outcome: Outcome): void => {
    if (outcome.kind === 'empty' || outcome.kind === 'failed') failedInRow += 1;
    switch (outcome.kind) {
      case 'answered':
        // An agent whose context is full gets its summary again and again, and never an answer to its task.
        if (hasTaskFailed && !outcome.isForTask()) return;
        hasAnswered = true;
        lastFailure = null;
        failedInRow = 0;
        hasTaskFailed = false;
        openTool = underWay === 0 ? (outcome.calls.at(-1) ?? null) : null;
        return;
      case 'failed':
        hasTaskFailed ||= outcome.isForTask();
        if (!hasAnswered || outcome.isForTask())
          lastFailure = { cause: outcome.cause, detail: outcome.detail };
        return;
      case 'empty':
      case 'left':
    }
  };
  return {
    begin() {
      if (underWay === 0) busySinceMs = clock.monotonicMs();
      underWay += 1;
      openTool = null;
    },
    end(outcome) {
      if (underWay === 1) modelMs += busyMs();
      underWay -= 1;
      take(outcome);
    },
    called: () => void (toolCalls += 1),
    get underWay() {
      return underWay;
    },
    read: () => ({
      underWay,
      hasAnswered,
      failedInRow,
      lastFailure,
      toolCalls,
      openTool,
      modelMs: Math.round(modelMs + busyMs()),
    }),
  };
}
