/** The hand-off of a task: what its agent says, and what the host found. */
import type { DispatchResult, Handoff } from '@caisson/protocol';
import { formatDuration } from './format-values.ts';
import { textLines, type Line } from './painted.ts';

const MAX_SUMMARY_LINES = 20;

export function describeHandoff({
  handoff,
  repository,
}: Pick<DispatchResult, 'handoff' | 'repository'>): Line[] {
  if (handoff === undefined) return [];
  const { taskId, problem, summary, concerns, suggestions } = handoff;
  return [
    `task: ${taskId}`,
    `status: ${handoff.status}, ${handoff.by === 'agent' ? 'in the words of the agent' : 'as far as the host knows: the agent did not say'}`,
    ...(problem === undefined ? [] : [`not taken: ${problem.detail}`]),
    ...textLines(summary.trim()).slice(0, MAX_SUMMARY_LINES),
    ...concerns.map((text) => `concern: ${text}`),
    ...suggestions.map((text) => `suggestion: ${text}`),
    `checked: ${describeVerdict(handoff, repository !== undefined)}`,
    `counted: ${describeMetrics(handoff)}`,
  ];
}

function describeVerdict({ verdict, outOfScope, branch }: Handoff, isRemote: boolean): string {
  const outside = outOfScope.length;
  return [
    verdict.isEmpty
      ? 'nothing was changed'
      : verdict.patchApplies
        ? 'the patch applies'
        : 'the patch does NOT apply',
    ...(branch === undefined ? [] : describePlace(verdict, isRemote)),
    verdict.scopeRespected ? 'the scope is respected' : `${outside} outside the scope`,
    ...(verdict.verify === 'none' ? [] : [`verify ${verdict.verify}`]),
  ].join(', ');
}

/** A run that changed nothing has no branch, and that is as it should be. */
function describePlace(
  { branchExists, pushed, isEmpty }: Handoff['verdict'],
  isRemote: boolean,
): readonly string[] {
  if (!branchExists) return isEmpty ? ['so no branch was made'] : ['there is NO branch'];
  return ['the branch exists', ...(pushed ? ['it is pushed'] : isRemote ? ['it is NOT pushed'] : [])];
}

function describeMetrics({ metrics }: Handoff): string {
  const { linesAdded, linesRemoved, filesCreated, filesModified, tokensUsed, toolCallCount } = metrics;
  return [
    `${filesCreated} created`,
    `${filesModified} modified`,
    `+${linesAdded} -${linesRemoved} lines`,
    `${tokensUsed} tokens`,
    `${toolCallCount} tool calls`,
    formatDuration(metrics.durationMs),
  ].join(', ');
}
