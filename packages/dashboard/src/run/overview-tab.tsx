import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { AgentText, withoutStyles } from '../ui/agent-text.tsx';
import { Facts } from '../ui/facts.tsx';
import { formatBytes, formatMs, formatTime, nameFailure, shortId } from '../ui/format.ts';
import { Notice } from '../ui/notices.tsx';
import { Section } from '../ui/section.tsx';
import { AskedSection } from './asked-section.tsx';
import { AttemptsSection } from './attempts-section.tsx';
import { CheckSection } from './check-section.tsx';
import { DenialsSection } from './denials-section.tsx';
import { UsageSection } from './usage-section.tsx';

export function OverviewTab({ run, events }: { run: DispatchResult; events: readonly EventEnvelope[] }) {
  return (
    <div className="overview">
      <WaitsNotice run={run} />
      <FailureNotice run={run} />
      <LiveSection run={run} />
      <OutcomeSection run={run} />
      <CheckSection run={run} />
      <AskedSection run={run} events={events} />
      <UsageSection run={run} />
      <DenialsSection run={run} events={events} />
      <AttemptsSection run={run} events={events} />
    </div>
  );
}

function WaitsNotice({ run: { waitsFor } }: { run: DispatchResult }) {
  if (waitsFor === undefined) return null;
  return (
    <Notice tone="wait">
      <p>
        It waits for you: {waitsFor.kind}. Decide in the <Link to="/">inbox</Link>.
      </p>
      <AgentText text={waitsFor.text} label="What it waits for" />
    </Notice>
  );
}

function FailureNotice({ run: { runId, failure, unpatched } }: { run: DispatchResult }) {
  return (
    <>
      {failure === undefined ? null : (
        <Notice tone="bad">
          <p>
            <strong>{nameFailure(failure)}</strong>
          </p>
          <AgentText text={failure.detail} label="What failed" />
          <p className="faint">
            The <Link to={runPath(runId, 'log')}>log</Link> says what came before. Retry starts the task
            again, edited if you like.
          </p>
        </Notice>
      )}
      {unpatched === undefined ? null : (
        <Notice tone="wait">
          <p>
            Its work is in no patch: {unpatched.why}. It is in <code>{unpatched.where}</code>.
          </p>
          <p>{unpatched.remedy}</p>
        </Notice>
      )}
    </>
  );
}

function LiveSection({ run: { live } }: { run: DispatchResult }) {
  if (live === undefined) return null;
  return (
    <Section title="Now">
      <Facts
        facts={[
          ['Phase', live.phase],
          ['Since', formatTime(live.since)],
          ['Attempt', live.attempt],
          ['Turns', live.turns],
          ['Tool calls', live.toolCalls],
          ['CPU', live.cpuPercent === undefined ? undefined : `${Math.round(live.cpuPercent)} % of a core`],
          ['Memory', live.memoryBytes === undefined ? undefined : formatBytes(live.memoryBytes)],
          ['Health', live.health],
          [
            'Makes no progress',
            live.stall === undefined ? undefined : live.stall.reason.replaceAll('-', ' '),
          ],
        ]}
      />
      {live.tool === undefined ? null : (
        <AgentText text={`${live.tool.name}: ${live.tool.what}`} label="The tool under way" />
      )}
      {live.stall === undefined ? null : (
        <AgentText text={live.stall.detail} label="Why it makes no progress" />
      )}
    </Section>
  );
}

function OutcomeSection({ run }: { run: DispatchResult }) {
  if (run.live !== undefined) return null;
  const { handoff } = run;
  return (
    <Section title="Outcome">
      <Facts
        facts={[
          ['Exit code', run.exitCode ?? 'none'],
          ['Took', run.durationMs === undefined ? 'unknown' : formatMs(run.durationMs)],
          ['Applied', run.applied === undefined ? 'not yet' : formatTime(run.applied.at)],
          ['Branch', run.branch === undefined ? undefined : `${run.branch.name} (${run.branch.status})`],
          ['Push', run.push === undefined ? undefined : `${run.push.status} ${run.push.detail ?? ''}`],
          [
            'Continued by',
            run.continuedBy === undefined ? undefined : (
              <Link to={runPath(run.continuedBy)}>{shortId(run.continuedBy)}</Link>
            ),
          ],
          ['Hand-off', handoff === undefined ? undefined : `${handoff.status}, by the ${handoff.by}`],
          ['Risky files', run.risky === undefined ? undefined : run.risky.length],
          ['Outside the scope', run.outsideScope === undefined ? undefined : run.outsideScope.length],
        ]}
      />
      <Answer run={run} />
    </Section>
  );
}

/** A plain command answers with what it printed. Its colours are in the log. */
function Answer({ run: { runtime, reply } }: { run: DispatchResult }) {
  if (runtime === 'command')
    return reply === '' ? (
      <p className="faint">The command printed nothing.</p>
    ) : (
      <AgentText text={withoutStyles(reply)} label="What the command printed" />
    );
  if (reply === '') return <p className="faint">The agent said nothing at its end.</p>;
  return <AgentText text={reply} label="The agent's answer" isProse />;
}
