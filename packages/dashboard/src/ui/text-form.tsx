import { useId, useState } from 'react';
import { useAction } from '../live/use-action.ts';
import { ProblemNotice } from './notices.tsx';

interface TextFormProps {
  readonly label: string;
  readonly button: string;
  readonly start?: string;
  onSend(text: string): Promise<void>;
}

export function TextForm({ label, button, start = '', onSend }: TextFormProps) {
  const [text, setText] = useState(start);
  const action = useAction();
  const id = useId();
  const send = () => {
    if (text.trim() !== '') void action.run(() => onSend(text));
  };
  return (
    <form
      className="answer wide-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={5}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) send();
        }}
      />
      <div className="actions">
        <button type="submit" className="primary" disabled={action.isBusy || text.trim() === ''}>
          {button}
        </button>
        <span className="faint small">Ctrl+Enter sends.</span>
      </div>
      <ProblemNotice problem={action.problem} />
    </form>
  );
}
