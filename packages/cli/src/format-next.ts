/** What a person can do with a run now. */
import type { DispatchResult } from '@caisson/protocol';
import { describeAgain } from './format-again.ts';
import { describeApply, labelled } from './format-ending.ts';
import { countFiles } from './format-timeline.ts';
import type { Line } from './painted.ts';

export function describeNext(run: DispatchResult, inPlace: boolean): Line[] {
  const { runId, status, result, asked, applied, risky, outsideScope } = run;
  const { repository, unpatched, leftWork } = run;
  const lines: Line[] = [];
  if (asked !== undefined) {
    lines.push(...labelled('question', asked.question));
    for (const option of result?.needsInput?.options ?? []) lines.push(`  - ${option}`);
    if (asked.answer !== undefined) lines.push(...labelled('answered', asked.answer));
    if (asked.continuedBy !== undefined) lines.push(`continued: caisson show ${asked.continuedBy}`);
    if (asked.status === 'open') lines.push(`answer: caisson answer ${runId} "…"`);
    if (asked.status === 'expired') lines.push(`expired; ask again: caisson retry ${runId}`);
  }
  if (unpatched !== undefined) lines.push(...labelled('the work', unpatched.remedy));
  else if (applied !== undefined) lines.push(describeApplied(applied));
  else if (result?.patchRef !== undefined)
    lines.push(describeApply(runId, inPlace, { risky, outsideScope, repository }));
  if (unpatched === undefined && leftWork === true) lines.push(`work so far: caisson diff ${runId}`);
  lines.push(...describeAgain(run));
  if (status === 'queued' || status === 'running') lines.push(`follow: caisson logs ${runId} -f`);
  return lines;
}

function describeApplied({
  at,
  files,
  hasConflicts,
  isPartial,
}: NonNullable<DispatchResult['applied']>): string {
  const where = files === 0 ? 'your files had it already' : countFiles(files);
  return `${isPartial === true ? 'applied in part' : 'applied'}: ${at}, ${where}${hasConflicts ? ', with conflict markers' : ''}`;
}
