/**
 * One contract, two implementations: a `Caisson` in this process, and one that speaks to a host over its socket.
 *
 * A1  Each operation is described once (`operations.ts`); server and client are made from that description.
 * A2  An error keeps its code, message and remedy on the way (problem+json).
 * A3  A host that goes away in the middle of a call is an error with a remedy, never a hang.
 * A4  A reader that does not read holds up nothing: what is only told is dropped and counted, the rest waits in the ledger.
 * A5  What a caller sends of its environment is never written to disk.
 * A6  No answer is a list without an end: it has a page of it, and `Link` names the next one. The client reads them all.
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
  /** The OpenAPI description of the routes: `docs/reference/openapi.json`. */
  readDescription(): Promise<string>;
  /** The proof of a run, as `caisson export` writes it. */
  readExport(run: string): Promise<Buffer>;
}

/** Judges requests, and records who decides. */
export interface Entrance {
  /** Throws where this visitor may not ask for it with any input: before a body is read. Absent where nobody is refused. */
  admitBody?(request: IncomingMessage, operation: OperationName): void;
  /** Throws where this visitor may not ask for it. */
  admit(
    request: IncomingMessage,
    operation: OperationName,
    input: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /** A request started this run. */
  started(request: IncomingMessage, run: StartedRun): Promise<void>;
  /** Whose folder and variables its runs have. Absent on the socket, where each caller sends its own. */
  caller?(): Caller;
}

export interface StartedRun {
  readonly runId: string;
  /** It was there already, by its idempotency key. */
  readonly isEarlier?: boolean;
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
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: AsyncIterable<Buffer>;
}
