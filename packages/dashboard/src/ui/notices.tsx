import type { ReactNode } from 'react';
import type { ProblemError } from '../api/problem.ts';
import { MAX_LISTED } from '../api/read-pages.ts';

/** What went wrong, and what a person can do about it. */
export function ProblemNotice({ problem, onClose }: { problem: ProblemError | null; onClose?: () => void }) {
  if (problem === null) return null;
  return (
    <div className="notice notice-bad" role="alert">
      <p>
        <strong>{problem.message}</strong>
      </p>
      {problem.remedy === undefined ? null : <p>{problem.remedy}</p>}
      <p className="faint">
        <code>{problem.code}</code>
      </p>
      {onClose === undefined ? null : (
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      )}
    </div>
  );
}

type Tone = 'ok' | 'bad' | 'wait' | 'info';

export function Notice({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <div className={`notice notice-${tone}`} role="status">
      {children}
    </div>
  );
}

/** A list is too long for a page; `rest` says how to see what is not here. */
export function CutNotice({ what, rest }: { what: string; rest: string }) {
  return (
    <Notice tone="info">
      Only {MAX_LISTED.toLocaleString('en-US')} {what} are here. {rest}
    </Notice>
  );
}

/** An empty place that says how something comes to be there. */
export function EmptyState({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what}…
    </p>
  );
}
