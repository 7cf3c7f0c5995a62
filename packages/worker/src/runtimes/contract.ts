import type { AgentCause, Mode } from '@caisson/protocol';

/**
 * The input of a driver. Paths are as the agent sees them, inside the sandbox. A driver must not touch the disk or
 * start anything: it only describes, and it only reads lines.
 */
export interface DriverInput {
  readonly bin: string;
  readonly prompt: string;
  /** For a driver that begins a new conversation itself where it cannot resume; others are started again with it. */
  readonly freshPrompt?: string;
  readonly systemPrompt?: string;
  readonly model?: string;
  readonly mode: Mode;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The address of the model inside, and the placeholder key that the broker replaces. */
  readonly endpoint?: { readonly baseUrl: string; readonly apiKey: string };
  /** The user's log-in is in HOME, in the program's own file: no key is set, and the endpoint takes its token. */
  readonly usesLogin?: boolean;
  /** The MCP server with the coordination tools; absent when the grant names none. */
  readonly mcp?: McpServer;
  /**
   * Skills that the run's capabilities have copied over the repository, as `.claude/skills/NAME`: not the repository's
   * own.
   */
  readonly capabilitySkills?: readonly string[];
  /** MCP servers of the repository that are to be started; the gate judges each call to them. */
  readonly projectServers?: readonly NamedServer[];
  /**
   * A program that decides one tool call: a JSON object with `tool_name` and `tool_input` on stdin, exit code 0 to
   * allow it, 2 with the reason on stderr to deny it. Claude Code, Codex and Gemini hooks, our Pi extension and our
   * opencode plugin all use exactly this.
   */
  readonly gate?: { readonly command: string; readonly args: readonly string[] };
  /** Whether `ask` signals get an answer; without it a call that needs an answer is denied. */
  readonly canAsk?: boolean;
  /** `usage` is the earlier count of the conversation: some programs report its sum, not the run's. */
  readonly resume?: { readonly sessionId: string; readonly usage?: UsageCount };
  readonly home: string;
  readonly workspace: string;
  /** The top of the repository around the workspace, often the same folder. */
  readonly workspaceTop: string;
  readonly isRoot: boolean;
}

/** An MCP server as a stdio command, and as the socket behind it for agents that speak MCP lines themselves. */
export interface McpServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly socketPath?: string;
}

/** A stdio server that the repository names. */
export interface NamedServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A file in the agent's private HOME, written before it starts. */
export interface AgentFile {
  readonly path: string;
  readonly content: string;
  readonly mode?: number;
}

/** A folder or file of the repository that the program sees without the repository's content. */
export type ProjectMask =
  | {
      readonly kind: 'folder';
      readonly path: string;
      /** The part of its content that stays visible, by path. */
      readonly keep: readonly string[];
      /** Files that are shown in it instead, by name. */
      readonly files: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'file'; readonly path: string; readonly content: string };

/** How the agent is started. */
export interface AgentCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Written to the agent's stdin, which is then closed; `null` closes it at once. */
  readonly stdin: string | null;
  /** Stdin stays open after `stdin` was written, for the lines of `AgentStream.answer`. */
  readonly keepsStdinOpen?: boolean;
  /** `file`: the program exits without waiting until its output was read, which only a file takes at once. */
  readonly stdout?: 'pipe' | 'file';
  readonly files: readonly AgentFile[];
  /** Folders under HOME that are kept for a later run that resumes this conversation. No written file may be in one. */
  readonly kept?: readonly string[];
  /** Where the program would obey the repository, if that is not what its descriptor says. */
  readonly masks?: readonly ProjectMask[];
}

export interface UsageCount {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** The meaning of a line of the agent's own stream. */
export type AgentSignal =
  | { readonly kind: 'session'; readonly sessionId: string }
  | { readonly kind: 'model'; readonly model: string }
  | { readonly kind: 'turn' }
  /** `isPiece`: more of the same text may follow at once. */
  | { readonly kind: 'text'; readonly text: string; readonly isPiece?: true }
  /** The agent reports that it waits, or tries again. */
  | { readonly kind: 'waiting'; readonly text: string }
  | { readonly kind: 'tool-start'; readonly callId: string; readonly tool: string; readonly input?: unknown }
  /** `durationMs`: if the agent reports it; else the time since the start counts. */
  | {
      readonly kind: 'tool-end';
      readonly callId: string;
      readonly ok: boolean;
      readonly detail?: string;
      readonly durationMs?: number;
    }
  /** `total` replaces what was counted so far, `delta` adds to it. */
  | { readonly kind: 'usage'; readonly how: 'delta' | 'total'; readonly usage: UsageCount }
  | { readonly kind: 'cost'; readonly usd: number }
  | { readonly kind: 'model-time'; readonly ms: number }
  | { readonly kind: 'compaction'; readonly reason?: string }
  /** The agent's own gate denied a call. */
  | {
      readonly kind: 'denied';
      readonly callId: string;
      readonly tool: string;
      readonly input?: unknown;
      readonly actionClass: string;
      readonly rule: string;
      readonly cause: string;
    }
  /** The agent pauses a call until `AgentStream.answer` is written to its stdin. */
  | {
      readonly kind: 'ask';
      readonly callId: string;
      readonly tool: string;
      readonly input: unknown;
      readonly actionClass: string;
      readonly rule: string;
    }
  /** The agent reported that it is done. After a grace window it is stopped if it does not exit. */
  | { readonly kind: 'concluded' }
  /** The stream differs from what was recorded: a named warning, never a crash. */
  | { readonly kind: 'drift'; readonly detail: string };

/** How the agent ended, by its own events first and its exit code second. */
export type AgentEnding =
  | { readonly kind: 'answered'; readonly reply: string }
  | { readonly kind: 'failed'; readonly cause: AgentCause; readonly detail: string; readonly reply?: string };

export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last part of stdout, without secrets, for drivers that read no lines. */
  readonly stdoutTail?: string;
  /** The last part of stderr, without secrets, for causes that appear only there. */
  readonly stderrTail: string;
}

/** Reads one agent's stdout. One instance serves one start. */
export interface AgentStream {
  /** One line without its newline. Never throws: an unknown line becomes `drift`. */
  line(text: string): readonly AgentSignal[];
  end(exit: AgentExit): AgentEnding;
  /** The line, newline included, that answers an `ask`. Only streams that ask have it. */
  answer?(callId: string, decision: 'allow' | 'deny'): string;
  /** The line, newline included, with a message to the running agent. Only agents that accept messages have it. */
  inject?(body: string): string;
}

/** A kind of agent program. Implementations keep no state between starts. */
export interface RuntimeDriver<N extends string = string> {
  readonly name: N;
  command(input: DriverInput): AgentCommand;
  /** What makes the program ask before every call over ACP; `full-auto` sets no rules. */
  readonly overAcp?: {
    args?(input: DriverInput): readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
  /** Its output is its answer, which `end` finds in `stdoutTail`: `line` is never called. */
  readonly readsNoLines?: boolean;
  createStream(start?: Pick<DriverInput, 'resume'>): AgentStream;
}
