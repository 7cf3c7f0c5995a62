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
  /** The run that goes on with this work now. */
  readonly follower: string | null;
  readonly comments: Comments;
  onSent(): void;
}

/** Comments become the next task. While another run goes on with this work, they can go to its agent as a message. */
export function SendComments({ runId, task, follower, comments, onSent }: SendCommentsProps) {
  const { client } = useApp();
  const action = useAction();
  const text = describeComments(comments);
  const go = (work: () => Promise<string>) =>
    void action.run(async () => {
      const next = await work();
      onSent();
      navigate(runPath(next));
    });
  const sendTo = async (running: string) => {
    await client.send('POST', `/v1/runs/${running}/messages`, { body: text });
    return running;
  };
  if (comments.size === 0) return null;
  return (
    <Section title={plural(comments.size, 'comment')}>
      <AgentText text={text} label="The message" />
      <div className="actions">
        {follower === null ? null : (
          <button
            type="button"
            className="primary"
            disabled={action.isBusy}
            onClick={() => go(() => sendTo(follower))}
          >
            Send them to the agent that goes on with it
          </button>
        )}
        <button
          type="button"
          className={follower === null ? 'primary' : ''}
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
      </div>
      <ProblemNotice problem={action.problem} />
    </Section>
  );
}
