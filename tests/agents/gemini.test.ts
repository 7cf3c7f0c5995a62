import { expect, it } from 'vitest';
import { createStage } from './agent-run.ts';
import { isSkipped, prepareAgent } from './agent-under-test.ts';
import { usage } from './cells/cell.ts';
import { describeAgent } from './describe-agent.ts';

describeAgent('gemini');

it.skipIf(isSkipped)(
  'a call of a sub-agent does not hang the real gemini',
  { timeout: 180_000 },
  async () => {
    const delegate = { agent_name: 'generalist', prompt: 'look around' };
    const stage = await createStage(await prepareAgent('gemini'), {
      script: {
        when: 'delegate it',
        turns: [
          { tool: { intent: 'call', tool: 'invoke_agent', arguments: delegate }, ...usage(50, 9) },
          { say: 'I did it myself.', ...usage(60, 7) },
        ],
      },
    });
    const ran = await stage.run('delegate it', '--timeout', '90s');
    expect([ran.failure, ran.status, ran.reply]).toEqual([undefined, 'done', 'I did it myself.']);
  },
);
