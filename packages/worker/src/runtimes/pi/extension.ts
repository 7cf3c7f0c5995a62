import type { DriverInput } from '../contract.ts';
import { samplingOf } from '../sampling.ts';

const CHANGING_TOOLS = ['bash', 'edit', 'write'];

/**
 * The extension in Pi's HOME. Pi has neither permissions nor MCP: the gate is a handler before each call, sampling
 * options that its settings lack are added to each request, and the coordination tools are registered one by one from
 * the server's own list. A handler that throws blocks the call, so the gate fails closed.
 */
export function piExtension(input: Pick<DriverInput, 'gate' | 'mcp' | 'mode' | 'settings'>): string {
  const { maxTokens, temperature } = samplingOf(input);
  return `import { spawn, spawnSync } from 'node:child_process';
const gate = ${JSON.stringify(input.gate ?? null)};
const maxTokens = ${JSON.stringify(maxTokens ?? null)};
const temperature = ${JSON.stringify(temperature ?? null)};
const server = ${JSON.stringify(input.mcp ?? null)};
const hidden = ${JSON.stringify(input.mode === 'suggest' ? CHANGING_TOOLS : [])};

${PROGRAM}`;
}

const PROGRAM = `function connect() {
  const child = spawn(server.command, server.args, { env: { ...process.env, ...server.env }, stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map();
  let rest = '';
  let serial = 0;
  const end = () => {
    for (const { reject } of waiting.values()) reject(new Error('the coordination server is gone'));
    waiting.clear();
  };
  child.on('error', end).on('exit', end);
  child.stdin.on('error', end);
  // Only a call that waits holds the program: some versions leave by themselves and say no goodbye.
  const hold = (how) => [child, child.stdin, child.stdout].forEach((handle) => handle[how]?.());
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines.filter(Boolean)) {
      const message = JSON.parse(line);
      const waiter = waiting.get(message.id);
      waiting.delete(message.id);
      if (waiting.size === 0) hold('unref');
      if (message.error) waiter?.reject(new Error(message.error.message));
      else waiter?.resolve(message.result);
    }
  });
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  const call = (method, params) =>
    new Promise((resolve, reject) => {
      const id = (serial += 1);
      waiting.set(id, { resolve, reject });
      hold('ref');
      send({ id, method, params });
    });
  return { call, send, close: () => child.kill() };
}

export default async function (pi) {
  if (gate) {
    pi.on('tool_call', (event) => {
      const input = JSON.stringify({ tool_name: event.toolName, tool_input: event.input, tool_use_id: event.toolCallId });
      const verdict = spawnSync(gate.command, gate.args, { input, encoding: 'utf8' });
      if (verdict.status !== 0) return { block: true, reason: verdict.stderr || 'the gate did not answer' };
    });
  }
  if (maxTokens !== null || temperature !== null) {
    pi.on('before_provider_request', ({ payload }) => {
      const changed = { ...payload, ...(temperature === null ? {} : { temperature }) };
      for (const name of ['max_tokens', 'max_completion_tokens', 'max_output_tokens'])
        if (maxTokens !== null && name in changed) changed[name] = maxTokens;
      return changed;
    });
  }
  if (!server) return;
  const mcp = connect();
  await mcp.call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pi', version: '1' } });
  mcp.send({ method: 'notifications/initialized' });
  const { tools } = await mcp.call('tools/list', {});
  for (const tool of tools) {
    pi.registerTool({
      name: 'mcp__caisson__' + tool.name,
      label: tool.name,
      description: tool.description ?? tool.name,
      parameters: tool.inputSchema,
      execute: async (_id, params) => {
        const result = await mcp.call('tools/call', { name: tool.name, arguments: params });
        const text = (result.content ?? []).map((part) => part.text ?? '').join('\\n');
        if (result.isError) throw new Error(text);
        return { content: [{ type: 'text', text }], details: {} };
      },
    });
  }
  // The reading ones are off by default, and no allowlist names any tool here.
  pi.on('session_start', () => {
    const wanted = new Set([...pi.getActiveTools(), 'grep', 'find', 'ls']);
    for (const name of hidden) wanted.delete(name);
    pi.setActiveTools([...wanted]);
  });
  pi.on('session_shutdown', () => mcp.close());
}
`;
