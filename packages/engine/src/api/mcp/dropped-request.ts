/**
 * A request over HTTP whose client has gone: nobody gets its answer, so a call that waits ends. Of a request the transport
 * passes only what is known of its caller to each call, so the signal is a part of that.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';

/** The request with a signal that is aborted when its connection ends before its answer does. */
export function withDropped(
  request: IncomingMessage,
  response: ServerResponse,
): IncomingMessage & { auth: AuthInfo } {
  const dropped = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) dropped.abort();
  });
  const auth: AuthInfo = { token: '', clientId: '', scopes: [], extra: { dropped: dropped.signal } };
  return Object.assign(request, { auth });
}

/** Of a call: that signal, where it came over HTTP. */
export function droppedOf(auth: AuthInfo | undefined): readonly AbortSignal[] {
  const dropped = auth?.extra?.['dropped'];
  return dropped instanceof AbortSignal ? [dropped] : [];
}
