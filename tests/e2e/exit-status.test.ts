/** `exitCode` of a run is the exit status of what failed; a failed run never reports 0. */
import { expect, it } from 'vitest';
import { createProject } from './project.ts';

const NOT_A_QUESTION = 'echo nonsense >.caisson/needs_input.json';

it.each([
  { what: 'the agent', args: ['--', 'sh', '-c', 'exit 9'], reported: 9, agent: 9 },
  {
    what: 'a gate',
    args: ['--verify', 'exit 42', '--verify-lens', 'gate', '--', 'true'],
    reported: 42,
    agent: 0,
  },
  { what: 'a setup script', setup: 'exit 7', args: ['--', 'true'], reported: 7, agent: undefined },
  {
    what: 'a question that cannot be read',
    args: ['--', 'sh', '-c', NOT_A_QUESTION],
    reported: null,
    agent: 0,
  },
  {
    what: 'a deadline',
    args: ['--timeout', '1s', '--', 'perl', '-e', '$SIG{TERM} = sub { exit 0 }; sleep 60'],
    reported: null,
  },
])('what failed is $what: exit code $told', async ({ setup, args, reported, agent }) => {
  const config = setup === undefined ? '' : `workspace: { setup: "${setup}" }\n`;
  const project = createProject({ config });
  const run = await project.run('--retries', '0', ...args);
  expect(run.failure).toBeDefined();
  expect([run.exitCode, run.result?.exitCode]).toEqual([reported, reported]);
  expect(run.result?.blocks.find(({ kind }) => kind === 'agent')?.exitCode).toBe(agent);
  const ending = (await project.events(run.runId)).find(({ type }) => type === 'dispatch.failed');
  expect(ending?.['exitCode']).toBe(reported);
});
