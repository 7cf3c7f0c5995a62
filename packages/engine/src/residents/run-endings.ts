/** Endings of runs, whichever process recorded them, from where the last daemon was. */
import { isEnding, statusOfEnding, TERMINAL_TYPES } from '@caisson/protocol';
import type { EventFeed, PublishedEvent } from '../ledger/index.ts';
import { deliverUntilDone } from './deliver-until-done.ts';
import { DeliveryCursor, type DeliveryCursorOptions } from './delivery-cursor.ts';
import { followFeed } from './follow-feed.ts';

/** The name of their cursor. */
export const RUN_ENDINGS = 'run-endings';

export interface EndedRun {
  readonly runId: string;
  readonly status: string;
  /** Of its ending. */
  readonly offset: number;
}

export interface RunEndingsOptions extends DeliveryCursorOptions {
  readonly feed: Pick<EventFeed, 'read'>;
  /** Resolves when all that it caused is done; null when it causes nothing. One that fails is asked again. */
  onEnded(run: EndedRun): Promise<unknown> | null;
}

/** Returns an idempotent stop. */
export function followRunEndings(options: RunEndingsOptions): () => void {
  const cursor = new DeliveryCursor(options, RUN_ENDINGS);
  const closing = new AbortController();
  const deliver = async (offset: number, runId: string, status: string): Promise<void> => {
    let isCause = true;
    const cause = async (): Promise<void> => {
      const caused = options.onEnded({ runId, status, offset });
      isCause = caused !== null;
      await caused;
    };
    cursor.begin(offset);
    if (!(await deliverUntilDone(options, `the ending of ${runId}`, cause, closing.signal))) return;
    if (isCause) cursor.end(offset);
    else cursor.skip(offset);
  };
  const onEvent = (event: PublishedEvent): void => {
    if (!isEnding(event) || event.runId === null || cursor.isDelivered(event.offset)) return;
    const failure = event.type === 'dispatch.failed' ? event.data.failure : undefined;
    const cause = event.type === 'dispatch.cancelled' ? event.data.cause : undefined;
    void deliver(event.offset, event.runId, statusOfEnding(event.type, failure, cause));
  };
  const { feed, clock, warn } = options;
  const onFailed = ({ message }: Error): void => warn(`endings of runs wait to start senses: ${message}`);
  const findStart = (): number => cursor.offset;
  void followFeed({ feed, clock, types: TERMINAL_TYPES, findStart, onEvent, onFailed }, closing.signal);
  return () => {
    closing.abort();
    cursor.save();
  };
}
