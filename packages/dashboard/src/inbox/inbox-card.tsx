import { useEffect, useRef } from 'react';
import type { Approval, ListedRun } from '../api/answers.ts';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { firstLine, formatAgo, formatRunCost, formatTime, nameFailure, plural } from '../ui/format.ts';
import { AgentText, showControls } from '../ui/agent-text.tsx';
import { Badge, StatusBadge } from '../ui/status-badge.tsx';
import { useNow } from '../ui/use-now.ts';
import { CardHead } from './card-head.tsx';
import { placeOfRun, type InboxItem } from './inbox-items.ts';
import { QuestionBody } from './question-body.tsx';
import { StateBadge } from '../residents/state-badge.tsx';
import type { Trouble } from './resident-trouble.ts';
import type { WholeCalls } from './use-whole-calls.ts';
import { WholeCall } from './whole-call.tsx';

interface CardProps {
  readonly item: InboxItem;
  readonly isChosen: boolean;
  readonly isBusy: boolean;
  readonly calls: WholeCalls;
  onChoose(): void;
  onDecide(decision: 'allow' | 'deny'): void;
  onHide(): void;
  onChanged(): void;
}

export function InboxCard(props: CardProps) {
  const element = useRef<HTMLLIElement>(null);
  const isPressed = useRef(false);
  const { isChosen, onChoose } = props;
  useEffect(() => {
    // What is pressed stays under the pointer: a button that moves away is not clicked.
    if (isChosen && !isPressed.current) element.current?.scrollIntoView({ block: 'nearest' });
    isPressed.current = false;
  }, [isChosen]);
  const press = () => {
    isPressed.current = !isChosen;
    onChoose();
  };
  return (
    <li
      ref={element}
      className={`card inbox-card kind-${props.item.kind}`}
      aria-current={isChosen ? 'true' : undefined}
      onFocus={onChoose}
      onPointerDown={press}
    >
      <CardBody {...props} />
    </li>
  );
}

function CardBody({ item, isBusy, calls, onDecide, onHide, onChanged }: CardProps) {
  switch (item.kind) {
    case 'approval':
      return <ApprovalBody approval={item.approval} isBusy={isBusy} calls={calls} onDecide={onDecide} />;
    case 'question':
      return <QuestionBody question={item.question} isBusy={isBusy} onAnswered={onChanged} />;
    case 'failure':
      return <FailureBody run={item.run} earlier={item.earlier.length} onHide={onHide} />;
    case 'work':
      return <WorkBody run={item.run} onHide={onHide} />;
    case 'trouble':
      return <TroubleBody trouble={item.trouble} onHide={onHide} />;
  }
}

interface ApprovalProps {
  readonly approval: Approval;
  readonly isBusy: boolean;
  readonly calls: WholeCalls;
  onDecide(decision: 'allow' | 'deny'): void;
}

function ApprovalBody({ approval, isBusy, calls, onDecide }: ApprovalProps) {
  const now = useNow();
  const { approvalId, tool, actionClass, deadlineAt, runId, requestedAt } = approval;
  const isUnread = !calls.isShown(approvalId);
  return (
    <>
      <CardHead badge={<Badge tone="wait">approval</Badge>} place={placeOfRun(runId)} at={requestedAt}>
        Allow <code>{showControls(tool)}</code>?{' '}
        <span className="faint">{actionClass.replaceAll('_', ' ')}</span>
      </CardHead>
      <WholeCall approval={approval} calls={calls} />
      <div className="actions">
        <button
          type="button"
          className="primary"
          disabled={isBusy || isUnread}
          onClick={() => onDecide('allow')}
        >
          Allow <kbd>a</kbd>
        </button>
        <button type="button" className="danger" disabled={isBusy} onClick={() => onDecide('deny')}>
          Deny <kbd>d</kbd>
        </button>
        <span className="faint" title={formatTime(deadlineAt)}>
          Denied by itself {formatAgo(deadlineAt, now)}
        </span>
      </div>
    </>
  );
}

interface FailureProps {
  readonly run: ListedRun;
  readonly earlier: number;
  onHide(): void;
}

function FailureBody({ run, earlier, onHide }: FailureProps) {
  return (
    <>
      <CardHead
        badge={<StatusBadge status={run.status} />}
        place={placeOfRun(run.runId)}
        at={run.endedAt ?? run.acceptedAt}
      >
        {showControls(firstLine(run.description))}
      </CardHead>
      {run.failure === undefined ? null : (
        <>
          <p className="faint">
            {nameFailure(run.failure)}
            {earlier === 0 ? '' : `, and so did ${plural(earlier, 'run')} of this task before it`}
          </p>
          <AgentText text={run.failure.detail} label="What failed" />
        </>
      )}
      <div className="actions">
        <Link className="button" to={runPath(run.runId)}>
          Look at it
        </Link>
        <Link className="button" to={runPath(run.runId, 'log')}>
          Log
        </Link>
        <HideButton onHide={onHide} />
      </div>
    </>
  );
}

function TroubleBody({ trouble, onHide }: { trouble: Trouble; onHide: () => void }) {
  const { name, state, detail, at } = trouble;
  return (
    <>
      <CardHead
        badge={<StateBadge state={state} />}
        place={{ path: '/residents', name: 'Residents' }}
        at={at}
      >
        {showControls(firstLine(name))}
      </CardHead>
      {detail === '' ? null : <AgentText text={detail} label="What failed" />}
      <div className="actions">
        <Link className="button" to="/residents">
          Look at it
        </Link>
        <HideButton onHide={onHide} />
      </div>
    </>
  );
}

function WorkBody({ run, onHide }: { run: ListedRun; onHide: () => void }) {
  return (
    <>
      <CardHead
        badge={<StatusBadge status={run.status} />}
        place={placeOfRun(run.runId)}
        at={run.endedAt ?? run.acceptedAt}
      >
        {showControls(firstLine(run.description))}
      </CardHead>
      <p className="faint">
        Its work is not in your files yet. <CheckWords checkPassed={run.checkPassed} /> Cost:{' '}
        {formatRunCost(run)}.
      </p>
      <div className="actions">
        <Link className="button primary" to={runPath(run.runId, 'diff')}>
          Read the diff
        </Link>
        <HideButton onHide={onHide} />
      </div>
    </>
  );
}

function HideButton({ onHide }: { onHide: () => void }) {
  return (
    <button type="button" className="quiet" onClick={onHide}>
      Hide <kbd>d</kbd>
    </button>
  );
}

function CheckWords({ checkPassed }: { checkPassed: boolean | undefined }) {
  if (checkPassed === undefined) return 'It was not checked.';
  return checkPassed ? 'Its check passed.' : <strong className="bad">Its check failed.</strong>;
}
