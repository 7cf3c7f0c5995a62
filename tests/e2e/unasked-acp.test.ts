/** ACP programs that nobody has tested may act without asking: they are ended, or limited by the sandbox and recorded. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, ROOT, type Project } from './project.ts';

function projectWithAgent(): Project {
  const project = createProject({
    config: [
      'runtimes: { stranger: { bin: ./stranger.mjs, settings: { protocol: acp } } }',
      'policy: { rules: [{ path: "*.pem", action: read-only, reason: keys are ours }] }',
      '',
    ].join('\n'),
  });
  project.write('stranger.mjs', readFileSync(join(ROOT, 'tests/e2e/fixtures/unasking-agent.mjs')));
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
