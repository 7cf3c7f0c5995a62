/**
 * One contract, two implementations: a `Caisson` in this process, and one that speaks to a host over its socket.
 *
 * A1  Each operation is described once (`operations.ts`); server and client are made from that description.
 * A2  An error keeps its code, message and remedy on the way (problem+json).
 * A3  A host that goes away in the middle of a call is an error with a remedy, never a hang.
 * A4  A reader that does not read holds up nothing: what is only told is dropped and counted, the rest waits in the ledger.
 * A5  What a caller sends of its environment is in no file but the job of an attempt, until its worker has read that.
 * A6  No answer is a list without an end: it has a page of it, and `Link` names the next one. The client reads them all.
 * A7  A request with an idempotency key is carried out once; a repeat gets its answer, or an error that says why not.
 * A8  Content is named by its digest or its place in a file that only grows: nobody reads it to learn that it is the same.
 */
import type { IncomingMessage } from 'node:http';
import type { Caller, DispatchRequest, HostIntroduction, OutputFile } from '@caisson/protocol';
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
  /** What a run left. */
  readonly bytes: RunBytes;
  /** Answers to requests with an idempotency key. */
  readonly kept: KeptAnswers;
  /** Reports what concerns no caller. */
  warn(message: string): void;
}

/** What a run left, found by its name. */
export interface RunBytes {
  log(run: string, name: 'stdout' | 'stderr'): Promise<NamedBytes>;
  patch(run: string): Promise<NamedBytes>;
  /** The proof of a run, as `caisson export` writes it. */
  exported(run: string): Promise<NamedBytes>;
  /** The files of `outputs/`, with paths that begin there. */
  outputs(run: string): Promise<readonly OutputFile[]>;
  output(run: string, path: string): Promise<NamedBytes>;
}

/** Bytes that have a name: the same name is the same content. Either `open` or `close` is called, once. */
export interface NamedBytes {
  /** Null where it has none before it is made. */
  readonly tag: string | null;
  /** A damaged content ends with an error, not with its last bytes. */
  open(): Promise<{ readonly size: number; readonly parts: AsyncIterable<Buffer> | Iterable<Buffer> }>;
  close(): Promise<void>;
}

/**
 * What was answered to requests with an idempotency key, for a day. A repeat gets the same answer, and nothing is done
 * twice: also not by the next daemon.
 */
export interface KeptAnswers {
  /**
   * The answer that was given, or null: then this request does it, and calls `finish` or `drop`. Throws where the key
   * belongs to another request, where that one is under way, and where nobody knows whether it was done.
   */
  begin(key: string, request: string): Promise<{ readonly answer: unknown } | null>;
  /** A secret is not kept: a repeat is refused. */
  finish(key: string, answer: unknown, isSecret: boolean): Promise<void>;
  /** Nothing was done. */
  drop(key: string): Promise<void>;
}

/** Judges requests, and records who decides. */
export interface Entrance {
  /** Throws where this visitor may not ask for it with any input: before a body is read. Absent where nobody is refused. */
  admitBody?(request: IncomingMessage, operation: OperationName): void;
  /** Throws where this visitor may not ask for it. Absent where nobody is refused. */
  admit?(
    request: IncomingMessage,
    operation: OperationName,
    input: Readonly<Record<string, unknown>>,
  ): void | Promise<void>;
  /** Records who asks for a change, right before it is made: never for a repeat that only gets the kept answer (A7). */
  record(
    request: IncomingMessage,
    operation: OperationName,
    input: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /** Whose idempotency keys its requests have. Absent on the socket, where all are of one user. */
  ownerOf?(request: IncomingMessage): string;
  /** What a run that it asks for may have at most. Absent on the socket. */
  boundsOf?(request: IncomingMessage): Pick<DispatchRequest, 'within'>;
  /** A request started this run. Must not reject: the run goes on, and its caller would ask for it again. */
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
  /** Waits for something that happens, however long that takes. */
  readonly isPatient?: boolean | undefined;
}

export interface ConnectionAnswer {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: AsyncIterable<Buffer>;
}
