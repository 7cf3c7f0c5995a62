/**
 * The worker's socket into the sandbox. The first line of a client selects the service: `{"gate": CALL}` has one tool
 * call judged and is answered `allow` or `deny REASON`, in words that need no parser; anything else is MCP.
 *
 * TD1  Every process inside the sandbox may connect; it can request only what the agent itself could.
 * TD2  A gate client without an answer must treat that as a denial.
 */
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { createNdjsonDecoder } from '@caisson/protocol';
import { objectOf } from '../runtimes/index.ts';
import type { CoordinationTool } from './coordination-tool.ts';
import type { McpConnection } from './mcp-server.ts';
import type { ToolCall, ToolGate } from './tool-gate.ts';

/** A write tool carries the whole file in its call. With the number of clients this limits the worker's memory. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const MAX_CLIENTS = 32;
/** A client that asks and does not read is disconnected. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

export interface ToolServer {
  readonly socketPath: string;
  close(): Promise<void>;
}

export interface ToolServerOptions {
  readonly socketPath: string;
  readonly gate: ToolGate;
  tools(): Promise<readonly CoordinationTool[]>;
}

export async function openToolServer(options: ToolServerOptions): Promise<ToolServer> {
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on('close', () => clients.delete(socket));
    serveClient(socket, options);
  });
  server.maxConnections = MAX_CLIENTS;
  mkdirSync(dirname(options.socketPath), { recursive: true, mode: 0o700 });
  await listen(server, options.socketPath);
  return {
    socketPath: options.socketPath,
    async close() {
      for (const client of clients) client.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      rmSync(options.socketPath, { force: true });
    },
  };
}

/** A socket's path may have at most 107 bytes; through a descriptor of its folder any path works. */
async function listen(server: ReturnType<typeof createServer>, socketPath: string): Promise<void> {
  const folderFd = openSync(dirname(socketPath), 'r');
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(`/proc/self/fd/${folderFd}/${basename(socketPath)}`, resolve);
    });
  } finally {
    closeSync(folderFd);
  }
}

function serveClient(socket: Socket, options: ToolServerOptions): void {
  const decoder = createNdjsonDecoder({ maxLineBytes: MAX_LINE_BYTES });
  let mcp: Promise<McpConnection> | null = null;
  let isGate = false;
  const receive = (value: unknown): void => {
    if (isGate) return;
    const call = mcp === null ? gateCallIn(value) : null;
    if (call !== null) {
      isGate = true;
      void answerGate(socket, options.gate, call);
      return;
    }
    mcp ??= openMcp(socket, options);
    mcp.then(
      (connection) => connection.receive(value),
      () => socket.destroy(),
    );
  };
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    for (const record of decoder.push(chunk)) {
      if (record.kind === 'value') receive(record.value);
      else socket.end(`deny ${describeUnreadable(record.reason)}\n`); // TD2
      if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
    }
  });
  socket.on('close', () => void mcp?.then((connection) => connection.closed()).catch(() => undefined));
}

async function openMcp(socket: Socket, options: ToolServerOptions): Promise<McpConnection> {
  const [{ serveMcp }, tools] = await Promise.all([import('./mcp-server.ts'), options.tools()]);
  return serveMcp(socket, tools);
}

function describeUnreadable(reason: string): string {
  return reason === 'too-long'
    ? `Denied: a call of more than ${MAX_LINE_BYTES} bytes cannot be judged. Make it smaller.`
    : 'Denied: the request to the gate cannot be read.';
}

/** Hooks of the programs use the same format. */
function gateCallIn(value: unknown): ToolCall | null {
  if (typeof value !== 'object' || value === null || !('gate' in value)) return null;
  const call = objectOf(value.gate);
  const { tool_name: tool, tool_input: input, tool_use_id: id } = call;
  return {
    tool: typeof tool === 'string' ? tool : 'unknown',
    input,
    ...(typeof id === 'string' ? { id } : {}),
  };
}

async function answerGate(socket: Socket, gate: ToolGate, call: ToolCall): Promise<void> {
  const verdict = await gate
    .judge(call)
    .catch((error: unknown) => ({ allow: false, reason: `the gate failed: ${(error as Error).message}` }));
  if (!socket.destroyed)
    socket.end(verdict.allow ? 'allow\n' : `deny ${verdict.reason ?? 'Denied by policy.'}\n`);
}
