import type { RunStatus } from '@caisson/protocol';

const TONES: Readonly<Record<string, string>> = {
  queued: 'quiet',
  running: 'run',
  waiting: 'wait',
  answered: 'quiet',
  done: 'ok',
  error: 'bad',
  timeout: 'bad',
  budget_exceeded: 'bad',
  cancelled: 'quiet',
  interrupted: 'bad',
};

const WORDS: Partial<Record<RunStatus, string>> = { budget_exceeded: 'over budget' };

interface StatusProps {
  readonly status: RunStatus;
  readonly note?: string | undefined;
  /** It waits for a person. */
  readonly isHeld?: boolean;
}

/** A status as a word and a colour: never the colour alone. */
export function StatusBadge({ status, note, isHeld = false }: StatusProps) {
  return (
    <Badge
      tone={isHeld ? 'wait' : (TONES[status] ?? 'quiet')}
    >{`${WORDS[status] ?? status}${note === undefined ? '' : ` · ${note}`}`}</Badge>
  );
}

export function Badge({ tone, children }: { tone: string; children: string }) {
  return <span className={`badge tone-${tone}`}>{children}</span>;
}
