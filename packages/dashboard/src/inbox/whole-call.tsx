import { useEffect } from 'react';
import type { Approval } from '../api/answers.ts';
import { showControls } from '../ui/agent-text.tsx';
import { ProblemNotice } from '../ui/notices.tsx';
import { FOLDED_CHARS, type WholeCalls } from './use-whole-calls.ts';

interface WholeCallProps {
  readonly approval: Approval;
  readonly calls: WholeCalls;
}

/** All that a waiting call was given: always text. Until it has been read, its first words. */
export function WholeCall({ approval: { approvalId, what }, calls }: WholeCallProps) {
  useEffect(() => calls.load(approvalId), [approvalId]);
  const call = calls.of(approvalId);
  const text = call?.text ?? what;
  const isFolded = call?.isOpen !== true && text.length > FOLDED_CHARS;
  return (
    <div className="agent-text">
      <pre tabIndex={0} role="region" aria-label="The whole call" aria-busy={call === null}>
        {showControls(isFolded ? text.slice(0, FOLDED_CHARS) : text)}
      </pre>
      {isFolded ? (
        <p>
          <button type="button" className="quiet" onClick={() => calls.open(approvalId)}>
            Show all {text.length.toLocaleString('en-US')} characters
          </button>{' '}
          <span className="faint">It can be allowed once all of it is shown.</span>
        </p>
      ) : null}
      {call !== null && call.text === null && call.problem === null ? (
        <p className="faint">This is all that was recorded of the call.</p>
      ) : null}
      <ProblemNotice problem={call?.problem ?? null} />
    </div>
  );
}
