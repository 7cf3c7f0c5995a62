/**
 * The host's control pipe to this worker, fd 3. `go` starts the attempt; `stop` ends it; end of file means that the
 * host is gone, and then the sandbox must be gone within milliseconds.
 */
import { Socket } from 'node:net';
import { ControlMessage, createNdjsonDecoder } from '@caisson/protocol';

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
  /** Ends the attempt as if the host had died. */
  reportHostLost(): void;
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
  const stream = new Socket({ fd: CONTROL_FD, readable: true, writable: false });

  const halt = (order: StopOrder): void => {
    if (!abort.signal.aborted) abort.abort(order);
    const why = new Error(order.kind === 'stop' ? `stopped before go: ${order.reason}` : 'the host is gone');
    going.reject(why);
    assigned.reject(why);
  };
  going.promise.catch(() => undefined);
  assigned.promise.catch(() => undefined);

  const obey = (message: ControlMessage): void => {
    switch (message.kind) {
      case 'assign':
        return assigned.resolve(message);
      case 'go':
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
  readMessages(stream, obey);
  const lost = (): void => halt({ kind: 'host-lost' });
  stream.on('end', lost);
  stream.on('error', lost);

  return {
    waitForGo: () => going.promise,
    waitForAssignment: () => assigned.promise,
    stop: abort.signal,
    onMessage(listener) {
      messageListeners.push(listener);
      for (const message of early.splice(0)) listener(message);
    },
    onReply: (listener) => replyListeners.push(listener),
    reportHostLost: lost,
    close: () => stream.destroy(),
  };
}

/** Anything that is no message of this protocol is ignored. */
function readMessages(stream: Socket, obey: (message: ControlMessage) => void): void {
  const decoder = createNdjsonDecoder();
  stream.on('data', (chunk) => {
    for (const record of decoder.push(chunk)) {
      const parsed = record.kind === 'value' ? ControlMessage.safeParse(record.value) : null;
      if (parsed?.success === true) obey(parsed.data);
    }
  });
}
