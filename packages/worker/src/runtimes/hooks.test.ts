/** What a runtime with a hook lays down for its program asks our gate before a call of each kind of tool, and obeys it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BUILT_IN_RUNTIMES, MODES, RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { findDriver, type AgentCommand } from './index.ts';

/** The native agent asks by itself. */
const HOOKED = BUILT_IN_RUNTIMES.filter((name) => name !== 'native').flatMap((name) =>
  MODES.filter((mode) => RUNTIME_DESCRIPTORS[name]?.modes[mode]?.perCall === 'hook').map(
    (mode) => [name, mode] as const,
  ),
);

test.each(HOOKED)(
  '%s in mode %s asks before each kind of tool, and a no blocks the call',
  async (name, mode) => {
    const home = mkdtempSync(join(tmpdir(), 'caisson-hooks-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const asked = join(home, 'asked');
    const gate = { command: '/bin/sh', args: ['-c', `cat >> '${asked}'; echo >> '${asked}'; exit 1`] };
    const command = findDriver(name)?.command({
      ...{ bin: '/opt/agent', prompt: 'do it', mode, settings: {}, home, gate },
      ...{ workspace: '/workspace', workspaceTop: '/workspace', isRoot: false },
    });
    if (command === undefined) throw new Error(`${name} has no driver`);
    for (const { path, content } of command.files) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
    const tools = Object.values(RUNTIME_DESCRIPTORS[name]?.tools ?? {}).map(
      (names) => names.split(' ')[0] ?? '',
    );
    expect(tools.length).toBeGreaterThan(0);
    for (const tool of tools) expect([tool, await callTool(command, tool)]).toEqual([tool, 'blocked']);
    const calls = readFileSync(asked, 'utf8').trim().split('\n');
    expect(calls.map((call) => (JSON.parse(call) as { tool_name: string }).tool_name)).toEqual(tools);
  },
);

/** As the program would: through a line for a shell in its settings or environment, or through a module of ours. */
async function callTool({ files, env }: AgentCommand, tool: string): Promise<'blocked' | 'ran'> {
  const lines = [
    ...files.flatMap(({ content }) => linesFor(parse(content), tool)),
    ...Object.values(env).filter((value) => value.endsWith('|| exit 2')),
  ];
  const input = JSON.stringify({ tool_name: tool, tool_input: {}, tool_use_id: 'call-1' });
  if (lines.some((line) => spawnSync('/bin/sh', ['-c', line], { input }).status === 2)) return 'blocked';
  for (const { path, content } of files)
    if (/^export /m.test(content) && (await isBlockedBy(path, tool))) return 'blocked';
  return 'ran';
}

/** Hooks in settings: `{ matcher, hooks: [{ command }] }`, at any depth. */
function linesFor(value: unknown, tool: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { matcher, hooks } = value as { matcher?: string; hooks?: { command: string }[] };
  if (matcher === undefined || !Array.isArray(hooks))
    return Object.values(value).flatMap((member) => linesFor(member, tool));
  const matches = matcher === '*' || new RegExp(`^(?:${matcher})$`).test(tool);
  return matches ? hooks.map(({ command }) => command) : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // not settings
  }
}

type Handler = (call: object, more?: object) => unknown;

/** A plugin of opencode throws; an extension of Pi returns `block`. */
async function isBlockedBy(path: string, tool: string): Promise<boolean> {
  const module = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as {
    Caisson?: () => Promise<Record<string, Handler>>;
    default?: (pi: { on(name: string, handler: Handler): void }) => Promise<void>;
  };
  const handlers: Record<string, Handler> = (await module.Caisson?.()) ?? {};
  await module.default?.({ on: (name, handler) => void (handlers[name] = handler) });
  try {
    await handlers['tool.execute.before']?.({ tool, callID: 'call-1' }, { args: {} });
  } catch {
    return true;
  }
  const verdict = handlers['tool_call']?.({ toolName: tool, input: {}, toolCallId: 'call-1' });
  return (verdict as { block?: boolean } | undefined)?.block === true;
}
