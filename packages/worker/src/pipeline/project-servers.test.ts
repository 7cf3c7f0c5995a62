import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findProjectServers } from './project-servers.ts';

function repository(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'project-servers-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

const find = (program: string, root: string, folder = '') =>
  findProjectServers(program, { path: root, mountPath: '/repo', cwd: join('/repo', folder) });

test.each([
  ['claude-code', '.mcp.json', '{"mcpServers":{"notes":{"command":"n","args":["a"],"env":{"K":"v"}}}}'],
  ['codex', '.codex/config.toml', '[mcp_servers.notes]\ncommand = "n"\nargs = ["a"]\nenv = { K = "v" }\n'],
  [
    'gemini',
    '.gemini/settings.json',
    '{"mcpServers":{"notes":{"command":"n","args":["a"],"env":{"K":"v"},"trust":true}}}',
  ],
  [
    'opencode',
    'opencode.jsonc',
    '{/* s */"mcp":{"notes":{"type":"local","command":["n","a"],"environment":{"K":"v"},},}}',
  ],
])('of %s are read from %s, with command, arguments and variables alone', async (program, path, content) => {
  expect(await find(program, repository({ [path]: content }))).toEqual({
    servers: [{ name: 'notes', command: 'n', args: ['a'], env: { K: 'v' } }],
    problems: [],
  });
});

test('are those of the folder in which the agent works', async () => {
  const root = repository({ 'app/.mcp.json': '{"mcpServers":{"a":{"command":"n"}}}' });
  expect((await find('claude-code', root, 'app')).servers).toHaveLength(1);
  expect((await find('claude-code', root)).servers).toEqual([]);
});

test('do not take a name that would pass for ours, and are no others than programs', async () => {
  const servers = { caisson: {}, Caisson_board_x: {}, 'a b': {}, remote: { url: 'http://x' }, '../x': {} };
  const named = Object.entries(servers).map(([name, more]) => [
    name,
    name === 'remote' ? more : { command: 'n' },
  ]);
  const root = repository({ '.mcp.json': JSON.stringify({ mcpServers: Object.fromEntries(named) }) });
  const found = await find('claude-code', root);
  expect([found.servers, found.problems.length]).toEqual([[], 5]);
});

test('are not read through a link, and what cannot be read or done is said', async () => {
  const outside = repository({ 'secret.json': '{"mcpServers":{"a":{"command":"n"}}}' });
  const root = repository({ '.gemini/settings.json': '{' });
  symlinkSync(join(outside, 'secret.json'), join(root, '.mcp.json'));
  for (const program of ['claude-code', 'gemini', 'pi']) {
    const { servers, problems } = await find(program, root);
    expect([servers, problems]).toEqual([[], [expect.stringMatching(/cannot be read|does not support/)]]);
  }
});
