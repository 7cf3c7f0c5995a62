/**
 * One contract, two implementations: a `Caisson` in this process, and one that speaks to a host over its socket.
 *
 * A1  Each operation is described once (`operations.ts`); server and client are made from that description.
 * A2  An error keeps its code, message and remedy on the way (problem+json).
 * A3  A host that goes away in the middle of a call is an error with a remedy, never a hang.
 * A4  A reader that does not read holds up nothing: what is only told is dropped and counted, the rest waits in the ledger.
 * A5  What a caller sends of its environment is in no file but the job of an attempt, until its worker has read that.
 */
import type { IncomingMessage } from 'node:http';
import type { Caller, HostIntroduction } from '@caisson/protocol';
import type { Caisson } from '../caisson-contract.ts';
import type { VerifyOptions } from '../evidence/index.ts';
import type { OperationName } from './operations.ts';

/** What the routes work with. */
export interface ApiHost {
  readonly caisson: Caisson;
  /** Who answers, and a proof that it can read the key of this state folder. */
  introduce(nonce: string): HostIntroduction;
  /** The same project as another process of this user sees it: its folder, its PATH, its variables. */
  forCaller(caller: Caller): Promise<Caisson>;
  /** Public keys in PEM, as `verify` takes them. */
  readKeys(pems: readonly string[]): VerifyOptions['trustedKeys'];
  readWitness(text: string): NonNullable<VerifyOptions['witness']>;
  /** What `caisson doctor` reports, without a repair. */
  examine(): Promise<unknown>;
  /** The proof of a run, as `caisson export` writes it. */
  readExport(run: string): Promise<Buffer>;
}

/** For requests that do not come over the socket, which only its user can open. */
export interface Entrance {
  /** Throws where this visitor may not ask for it. */
  admit(
    request: IncomingMessage,
    operation: OperationName,
    input: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /** Whose folder and variables its runs have: a visitor has none here. */
  caller(): Caller;
}

/** Sends requests to a host. */
export interface Connection {
  request(request: ConnectionRequest): Promise<ConnectionAnswer>;
  close(): void;
}

export interface ConnectionRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string | NodeJS.ReadableStream;
  readonly signal?: AbortSignal | undefined;
}

export interface ConnectionAnswer {
  readonly status: number;
  readonly body: AsyncIterable<Buffer>;
}
