import type { DispatchResult } from '@caisson/protocol';
import { DiffTab } from '../diff/diff-tab.tsx';
import { findDoubts } from '../diff/doubts.ts';
import { useRunEvents, type RunStory } from '../live/use-run-events.ts';
import { LogTab } from '../log/log-tab.tsx';
import { Link } from '../router/link.tsx';
import { navigate } from '../router/location.ts';
import { RUN_TABS, runPath, type RunTab } from '../router/route.ts';
import { isUnderWay } from '../runs/run-status-names.ts';
import { TimelineTab } from '../timeline/timeline-tab.tsx';
import { showControls } from '../ui/agent-text.tsx';
import { firstLine, formatRunCost, plural, shortId } from '../ui/format.ts';
import { useKeys } from '../ui/keys.ts';
import { Loading, Notice, ProblemNotice } from '../ui/notices.tsx';
import { Badge, StatusBadge } from '../ui/status-badge.tsx';
import { findAccepted } from './asked.ts';
import { EvidenceTab } from './evidence-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { RunActions } from './run-actions.tsx';
import { useRun } from './use-run.ts';

export function RunPage({ runId, tab }: { runId: string; tab: RunTab }) {
  const { value: run, problem } = useRun(runId);
  const story = useRunEvents(runId);
  useKeys((key) => {
    const chosen = RUN_TABS[Number(key) - 1];
    if (chosen !== undefined) navigate(runPath(runId, chosen));
    return chosen !== undefined;
  });
  if (run === null)
    return (
      <div className="page">
        <h1>Run {showControls(shortId(runId))}</h1>
        {problem === null ? <Loading what="the run" /> : <ProblemNotice problem={problem} />}
        {problem?.status === 404 ? (
          <p>
            <Link to="/runs">All runs</Link> of this project.
          </p>
        ) : null}
      </div>
    );
  const task = findAccepted(story.events)?.task.description ?? '';
  return (
    <div className="page">
      <RunHead run={run} task={task} />
      <RunActions run={run} task={task} />
      <nav className="tabs" aria-label="Parts of the run">
        {RUN_TABS.map((name, index) => (
          <Link key={name} to={runPath(runId, name)} aria-current={name === tab ? 'page' : undefined}>
            {name[0]?.toUpperCase()}
            {name.slice(1)} <kbd aria-hidden="true">{index + 1}</kbd>
          </Link>
        ))}
      </nav>
      <ProblemNotice problem={problem ?? story.problem} />
      {story.dropped === 0 ? null : (
        <Notice tone="info">
          The first {plural(story.dropped, 'event')} are not kept here: caisson logs has all of them.
        </Notice>
      )}
      <TabBody tab={tab} run={run} story={story} task={task} />
    </div>
  );
}

function RunHead({ run, task }: { run: DispatchResult; task: string }) {
  return (
    <div className="run-title">
      <div className="actions">
        <StatusBadge status={run.status} note={run.live?.phase} isHeld={run.waitsFor !== undefined} />
        {run.result?.verify?.passed === false ? <Badge tone="bad">check failed</Badge> : null}
        <code className="faint">{run.runId}</code>
        <span className="faint small">{formatRunCost(run, '')}</span>
      </div>
      <h1>{showControls(firstLine(task === '' ? run.runId : task, 160))}</h1>
    </div>
  );
}

interface BodyProps {
  readonly tab: RunTab;
  readonly run: DispatchResult;
  readonly story: RunStory;
  readonly task: string;
}

function TabBody({ tab, run, story, task }: BodyProps) {
  const isEnded = !isUnderWay(run.status);
  switch (tab) {
    case 'overview':
      return <OverviewTab run={run} events={story.events} />;
    case 'timeline':
      return <TimelineTab events={story.events} isEnded={isEnded} />;
    case 'log':
      return <LogTab runId={run.runId} />;
    case 'diff':
      return (
        <DiffTab
          runId={run.runId}
          task={task}
          isEnded={isEnded}
          doubts={findDoubts(run)}
          appliedAt={run.applied?.at}
          continues={findAccepted(story.events)?.continues}
        />
      );
    case 'evidence':
      return <EvidenceTab runId={run.runId} events={story.events} />;
  }
}
