import type { ApprovalRow } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--all]',
  about:
    'A call that the policy asks about is held until somebody decides. No answer before the deadline is a deny.',
  options: { all: { type: 'boolean', summary: 'also decided ones' } },
  examples: [{ line: 'caisson approvals', says: 'Which calls wait, of which run, and until when.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const approvals = await caisson.approvals({ all: options.all });
      output.result(approvals, () =>
        approvals.length === 0 ? 'Nothing waits for a decision.' : approvals.map(describe).join('\n\n'),
      );
      return EXIT_CODES.finished;
    }),
});

function describe(approval: ApprovalRow): string {
  const lines = [
    `${approval.approvalId}  ${approval.status}${approval.by === undefined ? '' : ` (${approval.by})`}  ${approval.runId}`,
    `  ${printable(approval.what)}`,
    `  ${approval.actionClass}`,
  ];
  if (approval.status === 'open')
    lines.push(`  until ${approval.deadlineAt}`, `  caisson approve ${approval.approvalId}`);
  return lines.join('\n');
}
