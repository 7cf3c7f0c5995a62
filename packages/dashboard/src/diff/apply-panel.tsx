import { useState } from 'react';
import type { ApplyChoice, ApplyResult } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { showControls } from '../ui/agent-text.tsx';
import { plural } from '../ui/format.ts';
import { Notice, ProblemNotice } from '../ui/notices.tsx';
import { describeDoubt, describeOutcome } from './apply-outcome.ts';
import { chooseAll, NOTHING_CHOSEN, toOnly, type Choice } from './choice.ts';
import type { Doubt } from './doubts.ts';
import type { PatchFile } from './parse-patch.ts';

interface ApplyPanelProps {
  readonly runId: string;
  readonly files: readonly PatchFile[];
  readonly choice: Choice;
  readonly doubts: readonly Doubt[];
  readonly appliedAt?: string | undefined;
  onChoose(choice: Choice): void;
}

interface Tried {
  readonly result: ApplyResult;
  readonly options: ApplyChoice;
}

/** What was pressed for one choice of files. For another choice nothing of it counts: its risks were never shown. */
interface Pressed {
  readonly choice: Choice;
  readonly accepted: readonly Doubt[];
  readonly tried: Tried | null;
}

export function ApplyPanel({ runId, files, choice, doubts, appliedAt, onChoose }: ApplyPanelProps) {
  const { client } = useApp();
  const action = useAction();
  const [last, setPressed] = useState<Pressed | null>(null);
  const pressed = last?.choice === choice ? last : null;
  const send = (options: ApplyChoice, accepted: readonly Doubt[]) =>
    void action.run(async () => {
      const only = toOnly(choice, files);
      const body = { ...options, ...(only === undefined ? {} : { only }) };
      const result = await client.send<ApplyResult>('POST', `/v1/runs/${runId}/apply`, body);
      setPressed({ choice, accepted, tried: { result, options } });
    });
  const accept = (accepted: readonly Doubt[]) => {
    if (accepted.length === doubts.length) send({}, accepted);
    else setPressed({ choice, accepted, tried: null });
  };
  const doubt = pressed?.tried === null ? doubts[pressed.accepted.length] : undefined;
  const isNothing = choice.size === 0;
  return (
    <div className="apply" role="region" aria-label="Apply">
      <div className="actions">
        <button
          type="button"
          className="primary"
          disabled={isNothing || action.isBusy}
          onClick={() => accept([])}
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
            : `It was applied before, ${appliedAt}.`}
        </span>
      </div>
      <ProblemNotice problem={action.problem} onClose={action.clear} />
      {doubt === undefined || pressed === null ? null : (
        <DoubtNotice
          doubt={doubt}
          isBusy={action.isBusy}
          onAccept={() => accept([...pressed.accepted, doubt])}
        />
      )}
      {pressed?.tried == null ? null : (
        <Outcome
          tried={pressed.tried}
          isBusy={action.isBusy}
          onNext={(options) => send(options, pressed.accepted)}
        />
      )}
    </div>
  );
}

interface DoubtProps {
  readonly doubt: Doubt;
  readonly isBusy: boolean;
  onAccept(): void;
}

function DoubtNotice({ doubt, isBusy, onAccept }: DoubtProps) {
  const { words, label } = describeDoubt(doubt);
  return (
    <Notice tone="wait">
      <p>
        <strong>{showControls(words)}</strong>
      </p>
      <div className="actions">
        <button type="button" className="danger" disabled={isBusy} onClick={onAccept}>
          {label}
        </button>
      </div>
    </Notice>
  );
}

interface OutcomeProps {
  readonly tried: Tried;
  readonly isBusy: boolean;
  onNext(options: ApplyChoice): void;
}

function Outcome({ tried, isBusy, onNext }: OutcomeProps) {
  const { tone, words, files, next } = describeOutcome(tried.result);
  return (
    <Notice tone={tone}>
      <p>
        <strong>{words}</strong>
      </p>
      <ul className="small file-list">
        {files.slice(0, 100).map((file) => (
          <li key={file}>{showControls(file)}</li>
        ))}
      </ul>
      {next === undefined ? null : (
        <div className="actions">
          <button
            type="button"
            className="danger"
            disabled={isBusy}
            onClick={() => onNext({ ...tried.options, ...next.add })}
          >
            {next.label}
          </button>
        </div>
      )}
    </Notice>
  );
}
