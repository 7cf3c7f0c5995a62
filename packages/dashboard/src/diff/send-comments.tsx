import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { navigate } from '../router/location.ts';
import { runPath } from '../router/route.ts';
import { retryRun } from '../runs/retry-run.ts';
import { AgentText } from '../ui/agent-text.tsx';
import { plural } from '../ui/format.ts';
import { ProblemNotice } from '../ui/notices.tsx';
import { Section } from '../ui/section.tsx';
import { describeComments, type Comments } from './comments.ts';

interface SendCommentsProps {
  readonly runId: string;
  readonly task: string;
  readonly isEnded: boolean;
  readonly comments: Comments;
  onSent(): void;
}

/** Comments go to a running agent as a message; of an ended one they become the next task. */
export function SendComments({ runId, task, isEnded, comments, onSent }: SendCommentsProps) {
  const { client } = useApp();
  const action = useAction();
  const text = describeComments(comments);
  const go = (work: () => Promise<string>) =>
    void action.run(async () => {
      const next = await work();
      onSent();
      if (next !== runId) navigate(runPath(next));
    });
  const send = async () => {
    await client.send('POST', `/v1/runs/${runId}/messages`, { body: text });
    return runId;
  };
  if (comments.size === 0) return null;
  return (
    <Section title={plural(comments.size, 'comment')}>
      <AgentText text={text} label="The message" />
      <div className="actions">
        {isEnded ? (
          <>
            <button
              type="button"
              className="primary"
              disabled={action.isBusy}
              onClick={() => go(() => retryRun(client, runId, { text }))}
            >
              Continue its work with them
            </button>
            <button
              type="button"
              disabled={action.isBusy}
              onClick={() => go(() => retryRun(client, runId, { task: `${task}\n\n${text}` }))}
            >
              Retry from the start with them
            </button>
          </>
        ) : (
          <button type="button" className="primary" disabled={action.isBusy} onClick={() => go(send)}>
            Send them to the agent
          </button>
        )}
      </div>
      <ProblemNotice problem={action.problem} />
    </Section>
  );
}
