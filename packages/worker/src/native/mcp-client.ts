// A small MCP client over a UNIX socket of JSON-RPC lines: enough to list the coordination tools and to call them. The
// official SDK would cost more start time than the rest of the agent.

import { connect, type Socket } from 'node:net';

const PROTOCOL_VERSION = '2025-06-18';
const MAX_LINE_CHARACTERS = 1 << 20;

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
}

export interface McpClient {
  listTools(): Promise<readonly McpTool[]>;
  /** The result's text; a result that is an error throws. */
  callTool(name: string, input: unknown): Promise<string>;
  close(): void;
}

interface Waiter {
  resolve(result: Record<string, unknown>): void;
  reject(error: Error): void;
}

/** Connects and initialises. */
export async function connectMcp(socketPath: string): Promise<McpClient> {
  const socket = connect(socketPath);
  const call = createCaller(socket);
  const clientInfo = { name: 'caisson-native', version: '1' };
  await call('initialize', { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo });
  send(socket, { method: 'notifications/initialized' });
  return {
    listTools: async () => toTools(await call('tools/list', {})),
    callTool: async (name, input) => toText(await call('tools/call', { name, arguments: input })),
    close: () => void socket.destroy(),
  };
}

function createCaller(socket: Socket) {
  const waiting = new Map<number, Waiter>();
  let rest = '';
  let serial = 0;
  const end = (error?: Error) => {
    const gone = new Error('the coordination server is gone', { cause: error });
    for (const waiter of waiting.values()) waiter.reject(gone);
    waiting.clear();
  };
  socket.setEncoding('utf8');
  socket.on('error', end);
  socket.on('close', () => end());
  socket.on('data', (chunk) => {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARACTERS)
      socket.destroy(new RangeError('a line of the coordination server is too long'));
    for (const line of lines) if (line !== '') receive(line, waiting);
  });
  return (method: string, params: unknown): Promise<Record<string, unknown>> =>
    new Promise((resolve, reject) => {
      if (socket.destroyed) return reject(new Error('the coordination server is gone'));
      const id = (serial += 1);
      waiting.set(id, { resolve, reject });
      send(socket, { id, method, params });
    });
}

const send = (socket: Socket, message: object): void =>
  void socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

function receive(line: string, waiting: Map<number, Waiter>): void {
  const message = asRecord(JSON.parse(line));
  const id = typeof message.id === 'number' ? message.id : -1;
  const waiter = waiting.get(id);
  waiting.delete(id);
  if (message.error === undefined) waiter?.resolve(asRecord(message.result));
  else waiter?.reject(new Error(String(asRecord(message.error).message)));
}

function toTools(result: Record<string, unknown>): readonly McpTool[] {
  const tools = Array.isArray(result.tools) ? result.tools.map(asRecord) : [];
  return tools.map(({ name, description, inputSchema }) => ({
    name: String(name),
    description: typeof description === 'string' ? description : String(name),
    inputSchema,
  }));
}

function toText(result: Record<string, unknown>): string {
  const parts = Array.isArray(result.content) ? result.content.map(asRecord) : [];
  const text = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n');
  if (result.isError === true) throw new Error(text);
  return text;
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
