/** Where nobody can be asked, in every format: which call waits, how it is answered, and what happens without an answer. */
import type { EnvelopeOf, EventEnvelope } from '@caisson/protocol';
import { canAsk } from './ask-on-terminal.ts';
import { formatDuration } from './format-values.ts';
import { hintWhole, placeOf } from './hint-whole.ts';
import type { Output } from './output.ts';
import type { Lines } from './painted.ts';

/** `stateDir`: the one of the command line, which the answer needs, too. */
export function createApprovalAnnouncer(
  output: Output,
  stateDir: string | undefined,
): (event: EventEnvelope) => void {
  const open = new Map<string, string>();
  return (event) => {
    if (event.type === 'approval.requested') {
      if (canAsk(output)) return;
      open.set(event.approvalId, event.what);
      output.note(describeWaiting(event, stateDir));
    }
    if (event.type !== 'approval.decided' || !open.has(event.approvalId)) return;
    output.note(`${WORDS[event.by](event.decision)}: ${open.get(event.approvalId) ?? ''}`);
    open.delete(event.approvalId);
  };
}

const WORDS = {
  user: (decision: 'allow' | 'deny') => (decision === 'allow' ? 'allowed' : 'denied'),
  deadline: () => 'denied, because nobody answered',
  ending: () => 'not decided, because the run ends',
} as const;

function describeWaiting(asked: EnvelopeOf<'approval.requested'>, stateDir: string | undefined): Lines {
  const { approvalId, what, at, deadlineAt } = asked;
  const place = placeOf(stateDir);
  const time = formatDuration(Date.parse(deadlineAt) - Date.parse(at));
  return [
    `waits for your decision: ${what}`,
    ...hintWhole(asked, stateDir),
    `  allow it, from another shell in this folder: caisson approve ${approvalId}${place}`,
    `  or deny it: caisson deny ${approvalId}${place}`,
    `  without an answer it is denied in ${time}, and the agent goes on without it`,
  ];
}
