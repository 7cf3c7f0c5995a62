import type { Question } from '@caisson/protocol';
import { useId, useState, type FormEvent } from 'react';
import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { AgentText, showControls } from '../ui/agent-text.tsx';
import { ProblemNotice } from '../ui/notices.tsx';
import { Badge } from '../ui/status-badge.tsx';
import { CardHead } from './card-head.tsx';
import { isOfThread, placeOfQuestion } from './inbox-items.ts';

interface QuestionProps {
  readonly question: Question;
  readonly isBusy: boolean;
  onAnswered(): void;
}

/** A question of an agent or a workflow, with its options and a box for any other answer. */
export function QuestionBody({ question, onAnswered, ...props }: QuestionProps) {
  const { client } = useApp();
  const action = useAction();
  const [text, setText] = useState('');
  const isBusy = action.isBusy || props.isBusy;
  const id = useId();
  const isWorkflow = isOfThread(question);
  const answer = async (given: string) => {
    const path = `/v1/questions/${question.questionId}/answer`;
    if (await action.run(() => client.send('POST', path, { answer: given }))) onAnswered();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') void answer(text);
  };
  const options = (question.options ?? []).filter((option) => typeof option === 'string');
  return (
    <>
      <CardHead
        badge={<Badge tone="wait">question</Badge>}
        place={placeOfQuestion(question)}
        at={question.askedAt}
      >
        {isWorkflow ? 'The workflow asks' : 'The agent asks'}
      </CardHead>
      <AgentText text={question.text} label="The question" isProse />
      {options.length === 0 ? null : (
        <div className="actions" role="group" aria-label="Answers that are offered">
          {options.map((option) => (
            <button key={option} type="button" disabled={isBusy} onClick={() => void answer(option)}>
              {showControls(option.slice(0, 300))}
            </button>
          ))}
        </div>
      )}
      <form className="answer" onSubmit={submit}>
        <label htmlFor={id}>Your answer</label>
        <textarea
          id={id}
          rows={2}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit(event);
          }}
        />
        <div className="actions">
          <button type="submit" className="primary" disabled={isBusy || text.trim() === ''}>
            Answer
          </button>
          <span className="faint">
            {isWorkflow ? 'The workflow goes on with it.' : 'A new run continues with it.'} Ctrl+Enter sends.
          </span>
        </div>
      </form>
      <ProblemNotice problem={action.problem} />
    </>
  );
}
