/** What is recorded as the agent's program is what runs: no script that starts another one. */
import { realpathSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createStage } from './agent-run.ts';
import { isSkipped, prepareAgent } from './agent-under-test.ts';
import { diffOf, runCommand, usage } from './cells/cell.ts';

it.skipIf(isSkipped).each(['codex', 'claude-code', 'opencode'])(
  'the program of %s is started directly, and recorded',
  async (name) => {
    const agent = await prepareAgent(name);
    const ofParents =
      'pid=$PPID; while [ "$pid" -gt 1 ]; do readlink "/proc/$pid/exe"; pid=$(awk \'/^PPid/{print $2}\' "/proc/$pid/status"); done > programs.txt';
    const stage = await createStage(agent, {
      script: [runCommand(ofParents), { say: 'Done.', ...usage(60, 7) }],
    });
    const ran = await stage.run('name your programs');
    const accepted = (await stage.project.events(ran.runId)).find(({ type }) => type === 'dispatch.accepted');
    const { bin } = (accepted?.['runtimeInfo'] ?? {}) as { bin?: string };
    const programs = (await diffOf(stage, ran)).match(/^\+\/.*$/gm)?.map((line) => line.slice(1));
    expect(programs).toContain(realpathSync(bin ?? ''));
  },
  180_000,
);
