/**
 * The part of the ssh-agent protocol (draft-ietf-sshm-ssh-agent) that signs with an Ed25519 key of an agent: list the
 * identities, ask for one signature. One connection a request; every answer is limited in size and time.
 */
import { createPublicKey, hash } from 'node:crypto';
import { connect } from 'node:net';

import type { PublicKey } from './contract.ts';
import { SignerUnusableError } from './errors.ts';
import { describePublicKey } from './public-key.ts';

const REQUEST_IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;
const FAILURE = 5;

const ED25519 = 'ssh-ed25519';
const MAX_ANSWER_BYTES = 256 * 1024;
const LIST_MS = 5000;
/** An agent may ask its user first. */
const SIGN_MS = 30_000;

/** An Ed25519 key of the agent. */
export interface AgentIdentity {
  /** As the agent names it on the wire. */
  readonly blob: Buffer;
  readonly comment: string;
  /** `SHA256:…`, as `ssh-add -l` prints it. */
  readonly fingerprint: string;
  readonly publicKey: PublicKey;
}

/** The Ed25519 keys of the agent; keys of other kinds are left out. */
export async function listIdentities(socket: string): Promise<AgentIdentity[]> {
  const answer = await ask(socket, Buffer.from([REQUEST_IDENTITIES]), IDENTITIES_ANSWER, LIST_MS);
  const reader = new WireReader(answer, socket);
  const count = reader.number();
  const found: AgentIdentity[] = [];
  for (let index = 0; index < count; index += 1) {
    const blob = reader.bytes();
    const comment = reader.bytes().toString('utf8');
    const publicKey = parseKey(blob, socket);
    if (publicKey === null) continue;
    const fingerprint = `SHA256:${hash('sha256', blob, 'base64').replaceAll('=', '')}`;
    found.push({ blob, comment, fingerprint, publicKey });
  }
  return found;
}

/** The 64 bytes of the signature. The caller checks them: an agent may answer anything. */
export async function signWithAgent(socket: string, blob: Buffer, data: Uint8Array): Promise<Buffer> {
  const request = Buffer.concat([
    Buffer.from([SIGN_REQUEST]),
    wireBytes(blob),
    wireBytes(data),
    Buffer.alloc(4), // no flags: they are about RSA
  ]);
  const answer = await ask(socket, request, SIGN_RESPONSE, SIGN_MS);
  const signature = new WireReader(new WireReader(answer, socket).bytes(), socket);
  if (signature.bytes().toString('latin1') !== ED25519)
    throw new SignerUnusableError(socket, 'it answered with a signature of another kind');
  return signature.bytes();
}

function parseKey(blob: Buffer, socket: string): PublicKey | null {
  const reader = new WireReader(blob, socket);
  if (reader.bytes().toString('latin1') !== ED25519) return null;
  const x = reader.bytes();
  if (x.length !== 32) return null;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') };
  return describePublicKey(createPublicKey({ key: jwk, format: 'jwk' }), `a key of the agent ${socket}`);
}

function ask(socket: string, request: Buffer, expected: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const fail = (detail: string, cause?: Error): void => {
      connection.destroy();
      reject(new SignerUnusableError(socket, detail, cause));
    };
    let received = Buffer.alloc(0);
    const connection = connect({ path: socket }, () => connection.write(wireBytes(request)));
    connection.setTimeout(timeoutMs, () => fail(`it did not answer within ${timeoutMs / 1000} s`));
    connection.on('error', (error) => fail(describeConnect(error), error));
    connection.on('close', () => fail('it closed the connection without an answer'));
    connection.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const length = received.length < 4 ? 0 : received.readUInt32BE(0);
      if (length > MAX_ANSWER_BYTES) return fail('its answer is larger than any real one');
      if (received.length < 5 || received.length < 4 + length) return;
      const kind = received[4];
      if (kind === FAILURE) return fail('it refused; it may be locked, or its user said no');
      if (kind !== expected) return fail(`it gave an unexpected answer of kind ${kind}`);
      resolve(received.subarray(5, 4 + length));
      connection.destroy();
    });
  });
}

function describeConnect(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'there is no such socket';
  if (error.code === 'ECONNREFUSED') return 'no process listens there';
  if (error.code === 'EACCES') return 'this user may not use it';
  return error.message;
}

function wireBytes(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Reads numbers and strings of the SSH wire format, and never beyond the end. */
class WireReader {
  readonly #bytes: Buffer;
  readonly #socket: string;
  #at = 0;

  constructor(bytes: Buffer, socket: string) {
    this.#bytes = bytes;
    this.#socket = socket;
  }

  number(): number {
    return this.#take(4).readUInt32BE(0);
  }

  bytes(): Buffer {
    return this.#take(this.number());
  }

  #take(count: number): Buffer {
    if (this.#at + count > this.#bytes.length)
      throw new SignerUnusableError(this.#socket, 'its answer ends too early');
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }
}
