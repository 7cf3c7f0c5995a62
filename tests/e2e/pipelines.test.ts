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
});
