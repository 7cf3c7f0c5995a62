import { useState } from 'react';

/** More than this is never drawn at once. */
const MAX_CHARS = 200_000;
const FOLDED_CHARS = 4000;

interface AgentTextProps {
  readonly text: string;
  readonly label: string;
  readonly isProse?: boolean;
}

/** What an agent or a task wrote: always text, never markup, of any length. */
export function AgentText({ text, label, isProse = false }: AgentTextProps) {
  const [isOpen, setIsOpen] = useState(false);
  const isLong = text.length > FOLDED_CHARS;
  const shown = text.slice(0, isOpen ? MAX_CHARS : FOLDED_CHARS);
  return (
    <div className="agent-text">
      <pre className={isProse ? 'prose' : ''} tabIndex={0} role="region" aria-label={label}>
        {showControls(shown)}
      </pre>
      {isLong ? (
        <button type="button" className="quiet" onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${text.length.toLocaleString('en-US')} characters`}
        </button>
      ) : null}
      {isOpen && text.length > MAX_CHARS ? (
        <p className="faint">Only the first {MAX_CHARS} characters are shown.</p>
      ) : null}
    </div>
  );
}

/** Control, direction and invisible characters become visible: what is approved is what is read. */
export function showControls(text: string): string {
  return text.replaceAll(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => {
    const code = (char.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** What a program printed, without the colours that it chose for a terminal. Not for what a person decides about. */
export function withoutStyles(text: string): string {
  return text.replaceAll(/\u001b\[[0-9;:]*m/g, '');
}
