import { AgentHandoff, describeHandoffProblems, HANDOFF_STATUSES } from '@caisson/protocol';
import { writeInMailbox } from '../attempt/index.ts';
import { objectSchema, type CoordinationTool, type ToolBench } from './coordination-tool.ts';

/** Reports the outcome of the task: with the same file that an agent may write by hand. */
export function handOffTool({ context }: ToolBench): CoordinationTool {
  const remarks = (description: string) => ({ type: 'array', items: { type: 'string' }, description });
  return {
    name: 'hand_off',
    description:
      'Report how the task went, once, when you are done with it. Files, lines and commits are counted for you.',
    inputSchema: objectSchema(
      {
        status: { type: 'string', enum: [...HANDOFF_STATUSES] },
        summary: { type: 'string', description: 'What you did, and what is left to do.' },
        concerns: remarks('What the person who takes over should be careful about.'),
        suggestions: remarks('What could be done next.'),
      },
      ['status', 'summary'],
    ),
    run(input) {
      const parsed = AgentHandoff.safeParse(input);
      if (!parsed.success)
        throw new Error(
          `The hand-off was not taken: ${describeHandoffProblems(input, parsed.error)}. Call hand_off again.`,
        );
      writeInMailbox(context.job.paths.mailbox, 'handoff.json', JSON.stringify(parsed.data));
      context.gathered.handedOff.push(parsed.data);
      return Promise.resolve('The hand-off is recorded. If you change anything after it, hand off again.');
    },
  };
}
