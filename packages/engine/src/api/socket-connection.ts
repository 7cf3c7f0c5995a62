/** Speaks HTTP with the host behind a UNIX socket. */
import { closeSync, openSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { basename, dirname } from 'node:path';
import type { Connection, ConnectionAnswer, ConnectionRequest } from './contract.ts';
import { DaemonGoneError } from './problems.ts';

const GONE = 'the daemon went away before it answered';

/** A socket's path may have at most 107 bytes; through a descriptor of its folder any project path works. */
export function connectSocket(socket: string): Connection {
  const agent = new Agent({ keepAlive: true });
  const folder = openSync(dirname(socket), 'r');
  return {
    request: (asked) => send(agent, `/proc/self/fd/${folder}/${basename(socket)}`, asked),
    close() {
      agent.destroy();
      closeSync(folder);
    },
  };
}

function send(agent: Agent, socketPath: string, asked: ConnectionRequest): Promise<ConnectionAnswer> {
  const { method, path, body, signal } = asked;
  const headers =
    typeof body === 'string'
      ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      : {};
  return new Promise((resolve, reject) => {
    // Without a name for TLS, Node need not find out whether it is an address (5 ms of a start).
    const where = { agent, socketPath, servername: '' };
    const request = httpRequest({ ...where, method, path, headers, ...(signal && { signal }) });
    request.once('error', (error) =>
      reject(signal?.aborted === true ? error : new DaemonGoneError(GONE, error)),
    );
    request.once('response', (response) =>
      resolve({ status: response.statusCode ?? 0, body: readWhole(response, signal) }),
    );
    if (body === undefined || typeof body === 'string') request.end(body);
    else body.pipe(request);
  });
}

/** A body that is cut off is an error, not an end. */
async function* readWhole(
  response: IncomingMessage,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const chunk of response) yield chunk as Buffer;
  } catch (error) {
    if (signal?.aborted !== true) throw new DaemonGoneError(GONE, error);
  }
}
