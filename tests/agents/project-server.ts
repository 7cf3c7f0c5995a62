/** An MCP server that a repository brings: one tool, `leave_note`, which writes a file into the repository. */
export const SERVER_FILE = 'note-server.mjs';

export const SERVER_SOURCE = `import { createInterface } from 'node:readline';
import { writeFileSync } from 'node:fs';
const tool = {
  name: 'leave_note',
  description: 'Leaves a note.',
  inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'notes', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: { name } }) => {
    writeFileSync(new URL(name + '.txt', import.meta.url), 'noted\\n');
    return { content: [{ type: 'text', text: 'noted' }] };
  },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = results[method]?.(params);
  const answer = result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
});
`;

const node = process.execPath;

/** The file in which each program's repository names the server. */
export const NAMED_IN: Readonly<Record<string, (script: string) => Readonly<Record<string, string>>>> = {
  'claude-code': (script) => ({
    '.mcp.json': JSON.stringify({ mcpServers: { notes: { command: node, args: [script] } } }),
  }),
  codex: (script) => ({
    '.codex/config.toml': `[mcp_servers.notes]\ncommand = "${node}"\nargs = ["${script}"] # ours\n`,
  }),
  gemini: (script) => ({
    '.gemini/settings.json': JSON.stringify({
      hooksConfig: { enabled: false },
      mcpServers: { notes: { command: node, args: [script], trust: true } },
    }),
  }),
  opencode: (script) => ({
    'opencode.jsonc': `{ // servers\n "mcp": { "notes": { "type": "local", "command": ["${node}", "${script}"] } } }`,
  }),
};
