import { useEffect, useId, useRef, useState } from 'react';
import { useAction } from '../live/use-action.ts';
import { Notice, ProblemNotice } from './notices.tsx';

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
  const field = useRef<HTMLTextAreaElement>(null);
  const [isEmpty, setIsEmpty] = useState(false);
  // A press has opened it, to write: else the keys that follow go to the button that was pressed.
  useEffect(() => field.current?.focus(), []);
  const send = () => {
    setIsEmpty(text.trim() === '');
    if (text.trim() === '') field.current?.focus();
    else if (!action.isBusy) void action.run(() => onSend(text));
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
        ref={field}
        rows={5}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return;
          event.preventDefault();
          send();
        }}
      />
      <div className="actions">
        <button type="submit" className="primary" disabled={action.isBusy}>
          {button}
        </button>
        <span className="faint small">Ctrl+Enter sends.</span>
      </div>
      {isEmpty && text.trim() === '' ? (
        <Notice tone="wait">Nothing was sent: the field is empty.</Notice>
      ) : null}
      <ProblemNotice problem={action.problem} />
    </form>
  );
}
