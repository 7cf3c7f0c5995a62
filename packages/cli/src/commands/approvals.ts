import type { ApprovalRow } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { separate, type Lines } from '../painted.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--all]',
  about:
    'A call that the policy asks about waits until a person decides. No answer before the deadline is a denial.',
  options: { all: { type: 'boolean', summary: 'also decided ones' } },
  examples: [{ line: 'caisson approvals', says: 'Which calls wait, of which run, and until when.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const approvals = await caisson.approvals({ all: options.all });
      output.result(approvals, () =>
        approvals.length === 0 ? ['Nothing waits for a decision.'] : separate(approvals.map(describe)),
      );
      return EXIT_CODES.finished;
    }),
});

function describe(approval: ApprovalRow): Lines {
  const lines = [
    `${approval.approvalId}  ${approval.status}${approval.by === undefined ? '' : ` (${approval.by})`}  ${approval.runId}`,
    `  ${approval.what}`,
    `  ${approval.actionClass}`,
  ];
  if (approval.status === 'open')
    lines.push(
      `  until ${approval.deadlineAt}`,
      `  caisson approve ${approval.approvalId}`,
      `  caisson deny ${approval.approvalId}`,
    );
  return lines;
}
