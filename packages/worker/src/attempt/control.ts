/**
 * The host's control messages to this worker: over fd 3, and after an adoption over the next host's connection. `go`
 * starts the attempt; `stop` ends it; end of file means that the host is gone:
 *
 *   driven ──end of file──► alone ──followNext──► driven
 *             │               └──giveUp──► host-lost
 *             └──before `go`, or nobody waits for a next host──► host-lost: the sandbox must be gone within milliseconds
 */
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { createNdjsonDecoder, readControlMessage, type ControlMessage } from '@caisson/protocol';

export type StopOrder = Extract<ControlMessage, { kind: 'stop' }> | { kind: 'host-lost' };

export type Assignment = Pick<Extract<ControlMessage, { kind: 'assign' }>, 'cwd' | 'env'>;

export interface Control {
  /** Resolves with `go`; rejects when the host is gone or stops the attempt first. */
  waitForGo(): Promise<void>;
  /** Resolves with the environment that a spare worker gets instead of its own. */
  waitForAssignment(): Promise<Assignment>;
  /** Aborted with a {@link StopOrder} as its reason. */
  readonly stop: AbortSignal;
  onMessage(listener: (message: { id: string; body: string }) => void): void;
  onReply(listener: (reply: { id: string; ok: boolean; value?: unknown }) => void): void;
  /** The host is gone, as its process shows; end of file says the same. */
  reportHostLost(): void;
  /** From now on a lost host after `go` does not end the attempt, but calls this. */
  waitForNext(onAlone: () => void): void;
  /** `waiting` for `go`, `driven` by a host, or `alone`. */
  standing(): 'waiting' | 'driven' | 'alone';
  /** Messages come from this stream alone; what an earlier host still sends is ignored. */
  followNext(stream: Readable): void;
  /** Nobody came: ends the attempt as lost. */
  giveUp(): void;
  /** Ends the attempt as if the host had ordered it. */
  stopAs(order: Omit<Extract<StopOrder, { kind: 'stop' }>, 'kind'>): void;
  close(): void;
}

const CONTROL_FD = 3;
const MAX_EARLY = 1000;

export function openControl(): Control {
  const abort = new AbortController();
  const going = Promise.withResolvers<void>();
  const assigned = Promise.withResolvers<Assignment>();
  const messageListeners: ((message: { id: string; body: string }) => void)[] = [];
  const replyListeners: ((reply: { id: string; ok: boolean; value?: unknown }) => void)[] = [];
  /** Messages that came before there was a listener. */
  const early: { id: string; body: string }[] = [];
  let hasGone = false;
  let onAlone: (() => void) | null = null;

  const halt = (order: StopOrder): void => {
    if (!abort.signal.aborted) abort.abort(order);
    const why = new Error(order.kind === 'stop' ? `stopped before go: ${order.reason}` : 'the host is gone');
    going.reject(why);
    assigned.reject(why);
  };
  for (const { promise } of [going, assigned]) (promise as Promise<unknown>).catch(() => undefined);

  const obey = (message: ControlMessage): void => {
    switch (message.kind) {
      case 'assign':
        return assigned.resolve(message);
      case 'go':
        hasGone = true;
        return going.resolve();
      case 'stop':
        return halt(message);
      case 'message':
        if (messageListeners.length === 0 && early.length < MAX_EARLY) early.push(message);
        for (const listener of messageListeners) listener(message);
        return;
      case 'reply':
        for (const listener of replyListeners) listener(message);
    }
  };
  const host = createHostStream(obey, () => {
    if (hasGone && onAlone !== null) onAlone();
    else halt({ kind: 'host-lost' });
  });
  host.follow(new Socket({ fd: CONTROL_FD, readable: true, writable: false }));

  return {
    waitForGo: () => going.promise,
    waitForAssignment: () => assigned.promise,
    stop: abort.signal,
    onMessage(listener) {
      messageListeners.push(listener);
      for (const message of early.splice(0)) listener(message);
    },
    onReply: (listener) => replyListeners.push(listener),
    reportHostLost: host.lose,
    waitForNext: (listener) => void (onAlone = listener),
    standing: () => (hasGone ? (host.isThere() ? 'driven' : 'alone') : 'waiting'),
    followNext: host.follow,
    giveUp: () => halt({ kind: 'host-lost' }),
    stopAs: (order) => halt({ kind: 'stop', ...order }),
    close: host.close,
  };
}

/** The stream of the host that there is now; what an earlier one still says is not read. */
function createHostStream(
  obey: (message: ControlMessage) => void,
  onLost: () => void,
): { follow(stream: Readable): void; isThere(): boolean; lose(): void; close(): void } {
  let current: Readable | null = null;
  const close = (): void => {
    const stream = current;
    current = null;
    stream?.destroy();
  };
  const lose = (): void => {
    if (current === null) return;
    close();
    onLost();
  };
  return {
    follow(stream) {
      close();
      current = stream;
      readMessages(stream, (message) => {
        if (stream === current) obey(message);
      });
      for (const end of ['end', 'error', 'close'])
        stream.on(end, () => {
          if (stream === current) lose();
        });
    },
    isThere: () => current !== null,
    lose,
    close,
  };
}

/** Anything that is no message of this protocol is ignored. */
function readMessages(stream: Readable, obey: (message: ControlMessage) => void): void {
  const decoder = createNdjsonDecoder();
  stream.on('data', (chunk: Buffer) => {
    for (const record of decoder.push(chunk)) {
      const message = record.kind === 'value' ? readControlMessage(record.value) : null;
      if (message !== null) obey(message);
    }
  });
}
