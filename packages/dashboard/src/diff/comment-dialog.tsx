import { useEffect, useRef, useState } from 'react';
import { showControls } from '../ui/agent-text.tsx';
import type { LineComment } from './comments.ts';

interface CommentDialogProps {
  readonly place: Omit<LineComment, 'text'>;
  readonly text: string;
  onKeep(text: string): void;
  onClose(): void;
}

export function CommentDialog({ place, text, onKeep, onClose }: CommentDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [draft, setDraft] = useState(text);
  useEffect(() => dialog.current?.showModal(), []);
  const keep = (value: string) => {
    onKeep(value);
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="comment-title">
      <form
        className="answer"
        onSubmit={(event) => {
          event.preventDefault();
          keep(draft);
        }}
      >
        <h2 id="comment-title">
          {showControls(place.path)}:{place.line}
        </h2>
        <pre className="command">{showControls(place.code.slice(0, 500))}</pre>
        <label htmlFor="comment-text">Your comment</label>
        <textarea
          id="comment-text"
          rows={4}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
        />
        <div className="actions">
          <button type="submit" className="primary">
            Keep
          </button>
          {text === '' ? null : (
            <button type="button" className="danger" onClick={() => keep('')}>
              Remove
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </form>
    </dialog>
  );
}
