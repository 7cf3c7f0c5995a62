import type { ApprovalRow, WholeApproval } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { separate, textLines, type Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--all | APPROVAL|RUN|latest]',
  about:
    'A call that the policy asks about waits until a person decides. No answer before the deadline is a denial.\n' +
    'The list has a line of each call. Name one to read all that it was given: a file with its text, a long command.',
  options: { all: { type: 'boolean', summary: 'also decided ones' } },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson approvals', says: 'Which calls wait, of which run, and until when.' },
    { line: 'caisson approvals latest', says: 'The whole of the newest waiting call.' },
  ],
  run: ({ options, positionals: [named], output }) => {
    if (named !== undefined && options.all)
      throw new UsageError('--all lists approvals, and one was named', { remedy: 'Use only one of them.' });
    return withCaissonToRead(options['state-dir'], output, async (caisson) => {
      if (named !== undefined) {
        const approval = await caisson.approval(named);
        output.result(approval, () => describeWhole(approval));
        return EXIT_CODES.finished;
      }
      const approvals = await caisson.approvals({ all: options.all });
      output.result(approvals, () =>
        approvals.length === 0 ? ['Nothing waits for a decision.'] : separate(approvals.map(describe)),
      );
      return EXIT_CODES.finished;
    });
  },
});

function describe(approval: ApprovalRow): Lines {
  return [headOf(approval), `  ${approval.what}`, `  ${approval.actionClass}`, ...describeOpen(approval)];
}

function describeWhole(approval: WholeApproval): Lines {
  const { call, what, actionClass } = approval;
  const body =
    call === null
      ? [`  ${what}`, '  This line is all that was recorded of the call.']
      : textLines(call.text, '  ');
  return [headOf(approval), `  ${actionClass}`, ...body, ...describeOpen(approval)];
}

function headOf({ approvalId, status, by, runId }: ApprovalRow): string {
  return `${approvalId}  ${status}${by === undefined ? '' : ` (${by})`}  ${runId}`;
}

function describeOpen({ status, deadlineAt, approvalId }: ApprovalRow): Lines {
  if (status !== 'open') return [];
  return [`  until ${deadlineAt}`, `  caisson approve ${approvalId}`, `  caisson deny ${approvalId}`];
}
