import { useState } from 'react';
import type { ListedRun } from '../api/answers.ts';
import { asProblem } from '../api/problem.ts';
import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { ConfirmButton } from '../ui/confirm-button.tsx';
import { plural } from '../ui/format.ts';
import { Notice } from '../ui/notices.tsx';
import { retryRun } from './retry-run.ts';
import { isUnderWay } from './run-status-names.ts';

/** What can be done with all marked runs. One that fails does not hold up the others. */
export function BulkBar({ marked, onDone }: { marked: readonly ListedRun[]; onDone: () => void }) {
  const { client } = useApp();
  const action = useAction();
  const [failures, setFailures] = useState<readonly string[]>([]);
  const open = marked.filter(({ status }) => isUnderWay(status));
  const ended = marked.filter(({ status }) => !isUnderWay(status));
  const each = (runs: readonly ListedRun[], work: (runId: string) => Promise<unknown>) =>
    void action.run(async () => {
      const failed: string[] = [];
      for (const { runId } of runs)
        await work(runId).catch((error: unknown) => failed.push(`${runId}: ${asProblem(error).message}`));
      setFailures(failed);
      onDone();
    });
  if (marked.length === 0 && failures.length === 0) return null;
  return (
    <div className="bulk" role="region" aria-label="Marked runs">
      <div className="actions">
        <strong role="status">{plural(marked.length, 'run')} marked</strong>
        <ConfirmButton
          label={`Cancel ${open.length}`}
          confirm={`Really cancel ${plural(open.length, 'run')}?`}
          isDisabled={open.length === 0 || action.isBusy}
          onConfirm={() => each(open, (runId) => client.send('POST', `/v1/runs/${runId}/cancel`))}
        />
        <ConfirmButton
          label={`Retry ${ended.length}`}
          confirm={`Really start ${plural(ended.length, 'run')} again?`}
          isDisabled={ended.length === 0 || action.isBusy}
          onConfirm={() => each(ended, (runId) => retryRun(client, runId))}
        />
        <button type="button" className="quiet" onClick={onDone}>
          Unmark all
        </button>
      </div>
      {failures.length === 0 ? null : (
        <Notice tone="bad">
          {failures.slice(0, 10).map((failure) => (
            <p key={failure}>{failure}</p>
          ))}
        </Notice>
      )}
    </div>
  );
}
