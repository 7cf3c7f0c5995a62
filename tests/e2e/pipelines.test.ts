import { expect, it } from 'vitest';
import { createProject } from './project.ts';

it('of several checks one that fails is not taken back by one that passes', { timeout: 60_000 }, async () => {
  const project = createProject({
    config: `pipelines:
  my.checks:
    blocks:
      - { kind: agent }
      - { kind: script, lens: verify, command: "echo first; exit 3" }
      - { kind: script, lens: verify, command: "echo second" }
      - { kind: capture, what: patch }
`,
  });
  const run = await project.run('--pipeline', 'my.checks', '--', 'true');
  expect(run.result).toMatchObject({ status: 'finished', verify: { passed: false, lens: 'verify' } });
  expect(run.result?.verify?.report).toBe('first\n\nsecond\n');
  expect(run.result?.blocks.map((block) => block.status)).toEqual(['ok', 'reported', 'ok', 'ok']);
  const { stdout } = await project.caisson('show', run.runId);
  expect(stdout.match(/^ {2}block .*(?= in \d)/gm)).toEqual([
    '  block 1: agent ok, exit 0',
    '  block 2: script (verify) did not pass, exit 3',
    '  block 3: script (verify) ok, exit 0',
    '  block 4: capture ok',
  ]);
});
