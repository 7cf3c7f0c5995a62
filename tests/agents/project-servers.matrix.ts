/** `runtimes.X.projectServers: true` with the real programs: the server is started, and nothing of it passes ungated. */
import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../e2e/project.ts';
import { createStage } from './agent-run.ts';
import { isSkipped, prepareAgent, type AgentUnderTest } from './agent-under-test.ts';
import { NAMED_IN, SERVER_FILE, SERVER_SOURCE } from './project-server.ts';

const usage = { usage: { inputTokens: 50, outputTokens: 9 } };
const note = (name: string) => ({
  tool: { intent: 'mcp' as const, tool: 'leave_note', arguments: { name } },
  ...usage,
});

if (isSkipped) process.stderr.write('CAISSON_SKIP_AGENTS=1: no agent meets servers of a project.\n');
describe.skipIf(isSkipped).each(Object.entries(NAMED_IN))('%s', (name, namedIn) => {
  let agent: AgentUnderTest;
  beforeAll(async () => {
    agent = await prepareAgent(name);
  }, 20 * 60_000);

  it('starts the servers of the project where the user says so, and each call is held until it is allowed', async () => {
    const stage = await createStage(
      { ...agent, config: (url) => agent.config(url).replace(' }\n', ', projectServers: true }\n') },
      { script: [note('first'), note('second'), { say: 'Noted.', ...usage }] },
    );
    const { project } = stage;
    project.write(SERVER_FILE, SERVER_SOURCE);
    for (const [path, content] of Object.entries(namedIn(`${project.root}/${SERVER_FILE}`)))
      project.write(path, content);
    project.git('add', '-A', '-f');
    project.git('commit', '-qm', 'server');
    const begun = await stage.begin('leave notes', '--mode', 'full-auto');
    for (const decision of ['approve', 'deny']) {
      await until(
        'a call is held',
        async () => (await project.caisson('approvals', '-o', 'json')).stdout.includes('leave_note'),
        60_000,
      );
      expect((await project.caisson(decision, begun.runId)).code).toBe(0);
    }
    const ran = await begun.end();
    expect([ran.failure, ran.reply]).toEqual([undefined, 'Noted.']);
    const { stdout: diff } = await project.caisson('diff', ran.runId);
    expect([diff.includes('b/first.txt'), diff.includes('b/second.txt')]).toEqual([true, false]);
  }, 180_000);
});
