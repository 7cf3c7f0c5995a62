/** What an agent does: files, commands, settings, the board. */
import { expect } from 'vitest';
import { createStage, expectUsage, type AgentRun, type Stage } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { combinedFiles } from '../hostile-combined.ts';
import { expectIgnored } from '../hostile-run.ts';
import { START_UP_FILES } from '../hostile-settings.ts';
import { runCommand, expectDone, diffOf, usage } from './cell.ts';

export async function edit(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      {
        say: 'I will write it.',
        tool: { intent: 'write-file', path: 'hello.txt', content: 'hello\n' },
        ...usage(100, 20, 30),
      },
      // Claude Code edits only what it has read.
      { tool: { intent: 'read-file', path: 'README.md' }, ...usage(105, 8) },
      {
        tool: { intent: 'edit-file', path: 'README.md', find: 'sample', replace: 'example' },
        ...usage(110, 21, 7),
      },
      { say: 'Both are done.', ...usage(120, 5) },
    ],
  });
  const ran = await stage.run('write hello.txt and edit the README');
  expectDone(ran, 'Both are done.');
  const diff = await diffOf(stage, ran);
  expect(diff).toContain('+hello');
  expect(diff).toContain('+# example');
  expect(ran.result?.usage?.toolCalls).toBe(3);
  expectUsage(stage, ran);
  await expectStory(stage, ran);
}

/** Its words, its calls and those of its model are events, in their order, whichever program it is. */
async function expectStory({ project }: Stage, { runId, result }: AgentRun): Promise<void> {
  const events = await project.events(runId);
  const said = events.filter(({ type }) => type === 'agent.said').map(({ text }) => text);
  expect(said).toEqual(['I will write it.', 'Both are done.']);
  const calls = events.filter(({ type }) => type === 'tool.started');
  expect(calls.map(({ what }) => String(what))).toEqual(
    ['hello.txt', 'README.md', 'README.md'].map((name) => expect.stringContaining(name) as string),
  );
  const ended = events.filter(({ type }) => type === 'tool.ended');
  expect(ended.map(({ callId, ok }) => [callId, ok])).toEqual(calls.map(({ callId }) => [callId, true]));
  const asked = events.filter(({ type, outcome }) => type === 'model.called' && outcome === 'answered');
  const out = asked.map(({ tokens }) => (tokens as { output: number }).output);
  expect(out.reduce((sum, each) => sum + each, 0)).toBe(result?.usage?.outputTokens);
}

export async function command(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('printf ran > ran.txt && git add ran.txt && git commit -qm done'),
      { say: 'It ran.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('run the command');
  expectDone(ran, 'It ran.');
  expect(await diffOf(stage, ran)).toContain('+ran');
  expectUsage(stage, ran);
}

/** What a definition says about the answers reaches the model, or is warned about by name. */
export async function sampling(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [{ say: 'Short.', ...usage(60, 7) }],
    config: `agents:\n  terse: { runtime: ${agent.name}, maxTokens: 4321, temperature: 0.25 }\n`,
  });
  const ran = await stage.run('answer', '--agent', 'terse');
  expectDone(ran, 'Short.');
  const asked = JSON.stringify(stage.model.modelRequests().map(({ body }) => body));
  const warned = (await stage.project.events(ran.runId))
    .filter(({ type }) => type === 'warning')
    .map((event) => String(event['message']));
  const taken = [
    ['maxTokens', /"(max_tokens|max_completion_tokens|maxOutputTokens)":4321\b/],
    ['temperature', /"temperature":0\.25\b/],
  ] as const;
  const found = taken.filter(([, pattern]) => pattern.test(asked)).map(([name]) => name);
  for (const [name] of taken)
    expect([name, found.includes(name), warned.some((message) => message.includes(name))]).toEqual([
      name,
      found.includes(name),
      !found.includes(name),
    ]);
  return found.length === 0 ? 'warns' : found.join(', ');
}

/** A program reports a misspelt tool to its model; no person is asked and nothing hangs. */
export async function misspelt(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      { tool: { intent: 'call', tool: 'bsh', arguments: { command: 'ls' } }, ...usage(50, 9) },
      { say: 'There is no such tool.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('list it', '--timeout', '60s');
  expectDone(ran, 'There is no such tool.');
}

export async function board(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      {
        tool: { intent: 'mcp', tool: 'board_write', arguments: { key: 'port', value: 8080 } },
        ...usage(40, 9),
      },
      { tool: { intent: 'mcp', tool: 'board_read', arguments: {} }, ...usage(45, 9) },
      { say: 'It is on the board.', ...usage(50, 4) },
    ],
  });
  const tools = ['--tool', 'board_write', '--tool', 'board_read'];
  const ran = await stage.run('tell the others', ...tools, '--session', 'team');
  expectDone(ran, 'It is on the board.');
  const { stdout } = await stage.project.caisson('board', '--session', 'team', '-o', 'json');
  expect(stdout).toContain('8080');
  expect(JSON.stringify(stage.model.requests.at(-1)?.body)).toContain(ran.runId); // who wrote it
  expectUsage(stage, ran);
}

export const hostile = (agent: AgentUnderTest): Promise<void> =>
  expectIgnored(agent, { committed: (root) => combinedFiles(agent.name, root), made: START_UP_FILES.files });
