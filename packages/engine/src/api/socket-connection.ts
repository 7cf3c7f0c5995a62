/**
 * Speaks HTTP with the host behind a UNIX socket, a connection for each call. It is a few lines of HTTP/1.1: loading
 * `node:http` and setting up its client takes longer than most calls (decision 0039).
 */
import { closeSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { Transform } from 'node:stream';
import type { Connection, ConnectionAnswer, ConnectionRequest } from './contract.ts';
import { DaemonGoneError } from './problems.ts';
import { readAnswer } from './read-answer.ts';

const GONE = 'the daemon went away before it answered';

/** Names the program that asks, percent-encoded. */
export const CLIENT_HEADER = 'caisson-client';

/** A socket's path may have at most 107 bytes; through a descriptor of its folder any project path works. */
export function connectSocket(socket: string, client?: string): Connection {
  const folder = openSync(dirname(socket), 'r');
  const path = `/proc/self/fd/${folder}/${basename(socket)}`;
  const open = new Set<Socket>();
  return {
    request(asked) {
      const connection = connect({ path, ...(asked.signal && { signal: asked.signal }) });
      open.add(connection);
      connection.once('close', () => open.delete(connection));
      connection.on('error', () => undefined); // its reader gets it
      return send(connection, asked, client);
    },
    close() {
      for (const connection of open) connection.destroy();
      closeSync(folder);
    },
  };
}

async function send(
  connection: Socket,
  asked: ConnectionRequest,
  client: string | undefined,
): Promise<ConnectionAnswer> {
  const { signal } = asked;
  writeRequest(connection, asked, client);
  try {
    const answer = await readAnswer(connection[Symbol.asyncIterator]() as AsyncIterator<Buffer>);
    return { ...answer, body: readWhole(connection, answer.body, signal) };
  } catch (error) {
    connection.destroy();
    throw signal?.aborted === true ? error : new DaemonGoneError(GONE, error);
  }
}

/** A body that is cut off is an error, not an end. */
async function* readWhole(
  connection: Socket,
  body: AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, void> {
  try {
    yield* body;
  } catch (error) {
    if (signal?.aborted !== true) throw new DaemonGoneError(GONE, error);
  } finally {
    connection.destroy();
  }
}

function writeRequest(
  connection: Socket,
  { method, path, body }: ConnectionRequest,
  client: string | undefined,
): void {
  const isText = typeof body === 'string';
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    ...(client === undefined ? [] : [`${CLIENT_HEADER}: ${encodeURIComponent(client)}`]),
    ...(isText ? ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`] : []),
    ...(body !== undefined && !isText ? ['transfer-encoding: chunked'] : []),
  ];
  connection.write(`${head.join('\r\n')}\r\n\r\n${isText ? body : ''}`);
  if (body !== undefined && !isText) body.pipe(createChunker()).pipe(connection, { end: false });
}

function createChunker(): Transform {
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      done(
        null,
        Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]),
      );
    },
    flush(done) {
      done(null, '0\r\n\r\n');
    },
  });
}
