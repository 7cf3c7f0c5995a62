/** ACP programs that nobody has tested may act without asking: they are ended, or limited by the sandbox and recorded. */
import { expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

/** Writes the file that the prompt names, reports it, and asks for nothing. */
const AGENT = `#!/usr/bin/env node
import { createInterface } from 'node:readline';
import { writeFileSync } from 'node:fs';
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const update = (sessionId, update) => say({ method: 'session/update', params: { sessionId, update } });
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') return say({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  if (method === 'session/new') return say({ id, result: { sessionId: 's1' } });
  if (method !== 'session/prompt') return;
  const path = /make (\\S+)/.exec(params.prompt[0].text)?.[1];
  if (path !== undefined) {
    writeFileSync(path, 'made\\n');
    const call = { toolCallId: 'c1', title: path, kind: 'edit', locations: [{ path: process.cwd() + '/' + path }] };
    update('s1', { sessionUpdate: 'tool_call', ...call, status: 'in_progress' });
    update('s1', { sessionUpdate: 'tool_call_update', ...call, status: 'completed' });
  }
  update('s1', { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Done.' } });
  say({ id, result: { stopReason: 'end_turn' } });
});
`;

function projectWithAgent(): Project {
  const project = createProject({
    config: [
      'runtimes: { stranger: { bin: ./stranger.mjs, settings: { protocol: acp } } }',
      'policy: { rules: [{ path: "*.pem", action: read-only, reason: keys are ours }] }',
      '',
    ].join('\n'),
  });
  project.write('stranger.mjs', AGENT);
  project.git('add', 'stranger.mjs');
  project.git('update-index', '--chmod=+x', 'stranger.mjs');
  project.git('commit', '-qm', 'agent');
  project.git('checkout', '--', 'stranger.mjs');
  return project;
}

it('one that does what policy denies, without asking, is ended and denied by name', async () => {
  const project = projectWithAgent();
  const ran = await project.run('--runtime', 'stranger', 'make key.pem');
  expect(ran.failure).toMatchObject({
    reason: 'policy-denied',
    detail: expect.stringContaining('without asking before') as string,
  });
  const denied = (await project.events(ran.runId)).filter(({ type }) => type === 'policy.denied');
  expect(JSON.stringify(denied)).toMatch(/ran ungated: .*key\.pem/);
});

it.each([
  ['acts without asking', 'make notes.txt', 'does not ask before it acts'],
  ['never asks', 'say hello', 'asked for no permission in this run'],
])('one that %s is recorded as limited by the sandbox alone', async (_what, task, words) => {
  const project = projectWithAgent();
  const ran = await project.run('--runtime', 'stranger', task);
  expect([ran.failure, ran.status]).toEqual([undefined, 'done']);
  expect(ran.result?.policy.enforced['toolCalls']).toBe('sandbox only');
  const warned = JSON.stringify((await project.events(ran.runId)).filter(({ type }) => type === 'warning'));
  expect(warned).toContain(`${words}: its calls are limited by the sandbox alone`);
});

it('one that nothing would limit, because there is no sandbox, is refused', async () => {
  const project = projectWithAgent();
  const open = ['--sandbox', 'none', '--network', 'full'];
  const refused = await project.caisson('run', '--runtime', 'stranger', ...open, 'make notes.txt');
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('calls-limited')]);
});
