/** What became of an apply, and what a person can choose next. */
import type { ApplyChoice, ApplyResult } from '../api/answers.ts';
import { plural } from '../ui/format.ts';

export interface ApplyOutcome {
  readonly tone: 'ok' | 'bad' | 'wait';
  readonly words: string;
  readonly files: readonly string[];
  readonly next?: { readonly label: string; readonly add: ApplyChoice };
}

export function describeOutcome(result: ApplyResult): ApplyOutcome {
  const { files } = result;
  switch (result.kind) {
    case 'applied':
      return { tone: 'ok', words: appliedWords(result), files };
    case 'conflicts':
      return result.areMarkersLeft
        ? { tone: 'wait', words: 'Applied, with conflict markers in these files. Resolve them.', files }
        : {
            ...{
              tone: 'bad',
              words: 'Nothing was changed: these files were changed since, in the same places.',
              files,
            },
            next: { label: 'Apply, and leave conflict markers', add: { leaveConflicts: true } },
          };
    case 'dirty':
      return {
        ...{
          tone: 'wait',
          words: 'Nothing was changed: these files have changes of yours that are not committed.',
          files,
        },
        next: { label: 'Merge into them all the same', add: { force: true } },
      };
    case 'outside-scope':
      return {
        ...{ tone: 'wait', words: 'Nothing was changed: the task was not about these files.', files },
        next: { label: 'Apply them too', add: { allowOutsideScope: true } },
      };
    case 'check-failed':
      return {
        ...{ tone: 'wait', words: 'Nothing was changed: its check failed.', files },
        next: { label: 'Apply it all the same', add: { evenIfCheckFailed: true } },
      };
    case 'other-repository':
      return {
        ...{ tone: 'wait', files },
        words: `Nothing was changed: the run worked on ${result.remote}, not on the files here.`,
        next: { label: 'Apply its patch to the files here', add: { here: true } },
      };
    case 'risky':
      return describeRisks(result);
  }
}

function describeRisks({ risks, isRefused, files }: Extract<ApplyResult, { kind: 'risky' }>): ApplyOutcome {
  const listed = risks.length === 0 ? files : risks.map(({ path, why }) => `${path}: ${why}`);
  if (isRefused)
    return {
      tone: 'bad',
      words: 'Refused: a program would carry out these files. Leave them out.',
      files: listed,
    };
  return {
    ...{
      tone: 'wait',
      words: 'Nothing was changed: other programs carry out these files. Read them first.',
      files: listed,
    },
    next: { label: 'I have read them: apply', add: { allowRisky: true } },
  };
}

function appliedWords({ files, already }: Extract<ApplyResult, { kind: 'applied' }>): string {
  if (already === 'in-place') return 'The run worked in your files: there is nothing to apply.';
  if (already === 'there') return 'Your files have these changes already.';
  return files.length === 0 ? 'There was nothing to apply.' : `Applied to ${plural(files.length, 'file')}.`;
}
