import type { DispatchResult } from '@caisson/protocol';
import { useState, type ReactNode } from 'react';
import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { navigate } from '../router/location.ts';
import { runPath } from '../router/route.ts';
import { retryRun } from '../runs/retry-run.ts';
import { isUnderWay } from '../runs/run-status-names.ts';
import { ConfirmButton } from '../ui/confirm-button.tsx';
import { Notice, ProblemNotice } from '../ui/notices.tsx';
import { TextForm } from '../ui/text-form.tsx';

interface RunActionsProps {
  readonly run: DispatchResult;
  readonly task: string;
}

export function RunActions({ run, task }: RunActionsProps) {
  return isUnderWay(run.status) ? <StopActions run={run} /> : <AgainActions runId={run.runId} task={task} />;
}

/** What a person can do with a run under way: a message, or an end. */
function StopActions({ run }: { run: DispatchResult }) {
  const { client } = useApp();
  const action = useAction();
  const [isWriting, setIsWriting] = useState(false);
  const [said, setSaid] = useState('');
  const cancel = (force: boolean) =>
    void action.run(async () => {
      await client.send('POST', `/v1/runs/${run.runId}/cancel`, force ? { force } : {});
      setSaid('The run was asked to stop. Its work so far is kept.');
    });
  const write = async (body: string) => {
    await client.send('POST', `/v1/runs/${run.runId}/messages`, { body });
    setSaid('The message is on its way to the agent.');
    setIsWriting(false);
  };
  return (
    <Panel said={said} problem={<ProblemNotice problem={action.problem} onClose={action.clear} />}>
      <button type="button" aria-expanded={isWriting} onClick={() => setIsWriting(!isWriting)}>
        Message…
      </button>
      <ConfirmButton
        label="Cancel"
        confirm="Really cancel?"
        isDisabled={action.isBusy}
        onConfirm={() => cancel(false)}
      />
      <ConfirmButton
        label="Kill"
        confirm="Really kill it at once?"
        isDisabled={action.isBusy}
        onConfirm={() => cancel(true)}
      />
      {isWriting ? <TextForm label="Message to the agent" button="Send" onSend={write} /> : null}
    </Panel>
  );
}

/** A retry repeats the task, edited or not; a continuation goes on with its work. */
function AgainActions({ runId, task }: { runId: string; task: string }) {
  const { client } = useApp();
  const [form, setForm] = useState<'none' | 'retry' | 'continue'>('none');
  const retry = async (text: string) =>
    navigate(runPath(await retryRun(client, runId, { task: text === task ? undefined : text })));
  const goOn = async (text: string) => navigate(runPath(await retryRun(client, runId, { text })));
  const toggle = (name: 'retry' | 'continue') => () => setForm(form === name ? 'none' : name);
  return (
    <Panel said="" problem={null}>
      <button type="button" aria-expanded={form === 'retry'} onClick={toggle('retry')}>
        Retry…
      </button>
      <button type="button" aria-expanded={form === 'continue'} onClick={toggle('continue')}>
        Continue…
      </button>
      {form === 'retry' ? (
        <TextForm label="The task, edited if you like" button="Retry" start={task} onSend={retry} />
      ) : null}
      {form === 'continue' ? (
        <TextForm label="The next task; it begins with this work" button="Continue" onSend={goOn} />
      ) : null}
    </Panel>
  );
}

function Panel({ said, problem, children }: { said: string; problem: ReactNode; children: ReactNode }) {
  return (
    <div className="run-actions">
      <div className="actions">{children}</div>
      {problem}
      {said === '' ? null : <Notice tone="info">{said}</Notice>}
    </div>
  );
}
