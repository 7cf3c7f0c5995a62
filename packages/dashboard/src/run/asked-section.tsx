import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { AgentText } from '../ui/agent-text.tsx';
import { Facts, type Fact } from '../ui/facts.tsx';
import { formatBytes, formatCount, formatMs, formatTime, formatUsd, shortId } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';
import { findAccepted, type Accepted } from './asked.ts';

/** What was asked, of whom, and what it may do. */
export function AskedSection({ run, events }: { run: DispatchResult; events: readonly EventEnvelope[] }) {
  const accepted = findAccepted(events);
  if (accepted === null) return null;
  return (
    <Section title="What was asked">
      <AgentText text={accepted.task.description} label="The task" isProse />
      <Facts facts={[...whoFacts(run, accepted), ...taskFacts(accepted)]} />
      <h3>What it may do</h3>
      <Facts facts={grantFacts(accepted)} />
    </Section>
  );
}

function whoFacts({ resolved }: DispatchResult, accepted: Accepted): Fact[] {
  const { requested, served } = resolved.model;
  return [
    ['Agent', accepted.agent],
    ['Runtime', `${accepted.runtime} ${accepted.runtimeInfo?.version ?? ''}`],
    ['Model', requested === '' ? 'none' : requested],
    ['Model that answered', served.length === 0 ? undefined : served.join(', ')],
    ['Session', accepted.session],
    ['Accepted', formatTime(accepted.at)],
  ];
}

function taskFacts({ task, continues, repository }: Accepted): Fact[] {
  return [
    ['Priority', task.priority],
    ['Scope', task.scope === undefined || task.scope.length === 0 ? undefined : task.scope.join(', ')],
    ['Done when', task.acceptance],
    ['Branch', task.branch],
    ['Repository', repository?.remote],
    [
      'Continues',
      continues === undefined ? undefined : <Link to={runPath(continues)}>{shortId(continues)}</Link>,
    ],
  ];
}

function grantFacts({ grant, timeoutMs }: Accepted): Fact[] {
  const { mode, sandbox, hosts, tools, limits, budget } = grant;
  return [
    ['Mode', mode],
    ['Sandbox', sandbox],
    ['Network', hosts.length === 0 ? 'none' : hosts.includes('*') ? 'every host' : hosts.join(', ')],
    ['Tools', tools.length === 0 ? undefined : tools.join(', ')],
    ['Memory', limits.memory === undefined ? 'no limit' : formatBytes(limits.memory)],
    ['Time', timeoutMs === undefined ? 'unknown' : `at most ${formatMs(timeoutMs)}`],
    ['Money', budget.usd === undefined ? 'no cap' : formatUsd(budget.usd)],
    ['Tokens', budget.tokens === undefined ? undefined : formatCount(budget.tokens)],
  ];
}
