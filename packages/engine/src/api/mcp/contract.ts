/**
 * Caisson for agents that speak MCP: the tools, what bounds them, and what they work with.
 *
 * M1  Every call goes through the `Caisson` contract. Nothing here reads a file or the ledger.
 * M2  No call gets more than the bounds that a person set when the server was started, nor more than what the project's
 *     configuration gives a run. More is refused and not reduced; what is left out gets the smaller of them (invariant 6).
 * M3  No tool approves a waiting call, allows a risky file, or applies work whose check did not pass: a person does.
 * M4  What agents, files and programs wrote is a value in JSON, cut to a limit, with invisible characters escaped.
 * M5  A failure is a result with `isError`, a code, a message and a remedy. It never ends the server.
 * M6  Every run of a client has a sandbox, works on a copy of the project, and has no more network than the project gives a run.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PatchFile } from '@caisson/ground';
import type { DispatchRequest, ErrorInfo, Mode } from '@caisson/protocol';
import type * as z from 'zod/mini';
import type { Caisson } from '../../caisson-contract.ts';
import type { SpentHere } from './spent-here.ts';

/** `read` looks, `run` starts and cancels runs and writes to boards, `decide` answers and applies. */
export const MCP_SCOPES = ['read', 'run', 'decide'] as const;
export type McpScope = (typeof MCP_SCOPES)[number];

/** What the person who starts the server allows its client. */
export interface McpBounds {
  /** The highest mode of a run. */
  readonly mode: Mode;
  /** The only session: its runs and its board. Null: all of the project. */
  readonly session: string | null;
  /** What one run may spend; null leaves that to the project. */
  readonly runUsd: number | null;
  /** What all runs of this server may spend together. */
  readonly totalUsd: number | null;
  /** Which tools there are; `read` is always among them. */
  readonly scopes: readonly McpScope[];
}

/** The project, opened for each call: a daemon may come and go while a server stays. */
export interface McpProject {
  /** For work that changes nothing. */
  read<T>(work: (caisson: Caisson) => Promise<T>): Promise<T>;
  /** For decisions about runs that are there; they are recorded as those of `client`. */
  act<T>(client: string, work: (caisson: Caisson) => Promise<T>): Promise<T>;
  /** The same for one that starts and changes nothing: a configuration that is not valid does not hinder it. */
  steer<T>(client: string, work: (caisson: Caisson) => Promise<T>): Promise<T>;
  /** For a write of `client` to the board of a session: it needs no earlier run. */
  writeBoard<T>(client: string, session: string, work: (caisson: Caisson) => Promise<T>): Promise<T>;
  /** Starts a run that goes on without this process. `isEarlier`: its idempotency key belongs to a run that was there. */
  start(
    client: string,
    request: DispatchRequest,
  ): Promise<{ readonly runId: string; readonly isEarlier: boolean }>;
  /** An error of any call of these, as it may cross a process. */
  describeError(error: unknown): ErrorInfo;
  /** Whether the daemon went away while it was asked. */
  isDaemonLoss(error: unknown): boolean;
  /** A patch in readable form, and the files in it. */
  describePatch(patch: Buffer): { readonly text: string; readonly files: readonly PatchFile[] };
}

/** What one call of a tool gets beside its input. */
export interface McpCall {
  /** Aborted when the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Who calls: the name that the client gave itself. */
  readonly client: string;
  /** Whether the call is a task: nothing waits for its answer. */
  readonly isTask: boolean;
  progress(done: number, total: number, message: string): void;
}

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodMiniType;
  readonly isReadOnly: boolean;
  /** Replaces or removes something that is there. */
  readonly isDestructive?: boolean;
  /** It may be called as a task of MCP. */
  readonly canBeTask?: boolean;
  run(input: unknown, call: McpCall): Promise<Record<string, unknown>>;
}

/** What the tools are made of. */
export interface McpBench {
  readonly project: McpProject;
  /** Whose idempotency keys its clients have. */
  readonly owner: string;
  readonly bounds: McpBounds;
  readonly spent: SpentHere;
  /** Aborted when the server ends. */
  readonly ending: AbortSignal;
  /** Work that a call leaves behind; the server waits for it when it ends. */
  keep(work: Promise<unknown>): void;
}

/** A request over HTTP, of one who was let in. */
export interface McpVisit {
  /** Whose sessions these are: nobody else may use them. */
  readonly owner: string;
  readonly project: McpProject;
  readonly bounds: McpBounds;
}

export interface McpSessionsParts {
  readonly version: string;
  onError(error: Error): void;
}

/** The MCP servers of a host over HTTP, one for each client. */
export interface McpSessions {
  answer(request: IncomingMessage, response: ServerResponse, visit: McpVisit): Promise<void>;
  stop(): Promise<void>;
}
