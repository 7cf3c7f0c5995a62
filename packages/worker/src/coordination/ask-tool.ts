import { NeedsInput } from '@caisson/protocol';
import { writeInMailbox } from '../attempt/index.ts';
import { objectSchema, type CoordinationTool, type ToolBench } from './coordination-tool.ts';

/** Asks a question: with the same sentinel file that an agent may write by hand. */
export function askTool({ context }: ToolBench): CoordinationTool {
  return {
    name: 'ask',
    description:
      'Ask a person when you cannot continue without a decision. The work so far is kept; after this call stop at once. You will be started again with the answer.',
    inputSchema: objectSchema(
      {
        question: { type: 'string' },
        options: { type: 'array', items: { type: 'string' } },
        context: { description: 'What the person needs to know.' },
        partial_state: { description: 'What you need to continue later.' },
      },
      ['question'],
    ),
    run(input) {
      const question = NeedsInput.parse(input);
      writeInMailbox(context.job.paths.mailbox, 'needs_input.json', JSON.stringify(question));
      return Promise.resolve('The question is recorded. Stop now; do no further work.');
    },
  };
}
