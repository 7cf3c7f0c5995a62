import { useState } from 'react';
import type { ApplyChoice, ApplyResult } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { showControls } from '../ui/agent-text.tsx';
import { formatTime, plural } from '../ui/format.ts';
import { Notice, ProblemNotice } from '../ui/notices.tsx';
import { describeOutcome } from './apply-outcome.ts';
import { chooseAll, NOTHING_CHOSEN, toOnly, type Choice } from './choice.ts';
import type { PatchFile } from './parse-patch.ts';

interface ApplyPanelProps {
  readonly runId: string;
  readonly files: readonly PatchFile[];
  readonly choice: Choice;
  readonly appliedAt?: string | undefined;
  onChoose(choice: Choice): void;
}

/** What became of one choice of files. For another choice nothing of it counts: its risks were never shown. */
interface Tried {
  readonly choice: Choice;
  readonly result: ApplyResult;
  readonly options: ApplyChoice;
}

export function ApplyPanel({ runId, files, choice, appliedAt, onChoose }: ApplyPanelProps) {
  const { client } = useApp();
  const action = useAction();
  const [last, setTried] = useState<Tried | null>(null);
  const tried = last?.choice === choice ? last : null;
  const apply = (options: ApplyChoice) =>
    void action.run(async () => {
      const only = toOnly(choice, files);
      const body = { ...options, ...(only === undefined ? {} : { only }) };
      const result = await client.send<ApplyResult>('POST', `/v1/runs/${runId}/apply`, body);
      setTried({ choice, result, options });
    });
  const isNothing = choice.size === 0;
  return (
    <div className="apply" role="region" aria-label="Apply">
      <div className="actions">
        <button
          type="button"
          className="primary"
          disabled={isNothing || action.isBusy}
          onClick={() => apply({})}
        >
          Apply {plural(choice.size, 'file')}
        </button>
        <button
          type="button"
          className="quiet"
          onClick={() => onChoose(isNothing ? chooseAll(files) : NOTHING_CHOSEN)}
        >
          {isNothing ? 'Choose all' : 'Choose none'}
        </button>
        <span className="faint small">
          {appliedAt === undefined
            ? 'Into the files of the project on the host.'
            : `Its work was applied on ${formatTime(appliedAt)}.`}
        </span>
      </div>
      <ProblemNotice problem={action.problem} onClose={action.clear} />
      {tried === null ? null : (
        <Outcome tried={tried} isBusy={action.isBusy} onNext={(add) => apply({ ...tried.options, ...add })} />
      )}
    </div>
  );
}

interface OutcomeProps {
  readonly tried: Tried;
  readonly isBusy: boolean;
  onNext(add: ApplyChoice): void;
}

function Outcome({ tried, isBusy, onNext }: OutcomeProps) {
  const { tone, words, files, next } = describeOutcome(tried.result);
  return (
    <Notice tone={tone}>
      <p>
        <strong>{showControls(words)}</strong>
      </p>
      <ul className="small file-list">
        {files.slice(0, 100).map((file) => (
          <li key={file}>{showControls(file)}</li>
        ))}
      </ul>
      {next === undefined ? null : (
        <div className="actions">
          <button type="button" className="danger" disabled={isBusy} onClick={() => onNext(next.add)}>
            {next.label}
          </button>
        </div>
      )}
    </Notice>
  );
}
