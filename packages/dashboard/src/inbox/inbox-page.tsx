import { useEffect, useMemo, useRef, useState } from 'react';
import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { navigate } from '../router/location.ts';
import { runPath } from '../router/route.ts';
import { useKeys } from '../ui/keys.ts';
import { EmptyState, Loading, ProblemNotice } from '../ui/notices.tsx';
import { useHiddenEntries } from './hidden-entries.ts';
import { buildInbox, followChoice, NOTHING_CHOSEN, type InboxItem } from './inbox-items.ts';
import { InboxCard } from './inbox-card.tsx';
import { useInbox } from './use-inbox.ts';

export function InboxPage() {
  const { client } = useApp();
  const sources = useInbox();
  const [hidden, hide] = useHiddenEntries();
  const action = useAction();
  const items = useMemo(
    () => (sources.value === null ? [] : buildInbox(sources.value, hidden)),
    [sources.value, hidden],
  );
  const { chosen, choose, hasJustMoved } = useChosen(items);
  const sent = useRef(new Set<string>());
  const decide = (item: InboxItem, decision: 'allow' | 'deny') => {
    if (item.kind !== 'approval' || sent.current.has(item.id)) return;
    sent.current.add(item.id); // it stays in the list for a moment
    void action
      .run(() => client.send('POST', `/v1/approvals/${item.id}/decision`, { decision }))
      .then((isSent) => {
        if (!isSent) sent.current.delete(item.id);
        sources.reload();
      });
  };
  useInboxKeys(items, chosen, { choose, decide, hide, isHeld: () => action.isBusy || hasJustMoved() });
  return (
    <div className="page inbox">
      <h1>Inbox</h1>
      <p className="faint lead">
        What waits for you.{' '}
        <span className="key-hints">
          <kbd>j</kbd> <kbd>k</kbd> choose, <kbd>a</kbd> allow, <kbd>d</kbd> deny or hide, <kbd>Enter</kbd>{' '}
          open.
        </span>
      </p>
      <ProblemNotice problem={action.problem ?? sources.problem} />
      {sources.value === null && sources.problem === null ? <Loading what="the inbox" /> : null}
      {sources.value !== null && items.length === 0 ? <NothingWaits /> : null}
      <ul className="cards" aria-label="What waits for you">
        {items.map((item) => (
          <InboxCard
            key={item.id}
            item={item}
            isChosen={item.id === chosen}
            isBusy={action.isBusy}
            onChoose={() => choose(item.id)}
            onDecide={(decision) => decide(item, decision)}
            onHide={() => hide(item.id)}
            onChanged={sources.reload}
          />
        ))}
      </ul>
    </div>
  );
}

function NothingWaits() {
  return (
    <EmptyState title="Nothing waits for you">
      <p>
        Calls that need your yes, questions of agents, failures and finished work appear here. Start a task in
        a terminal:
      </p>
      <pre className="command">caisson run "Fix the failing test in src/"</pre>
      <p>An agent in the mode suggest asks before each command: its calls are decided here.</p>
    </EmptyState>
  );
}

/** Long enough to see that another entry is chosen now. */
const SEEN_MS = 700;

interface Chosen {
  readonly chosen: string | null;
  choose(id: string): void;
  /** The choice changed by itself a moment ago: a key that is on its way was meant for the entry before. */
  hasJustMoved(): boolean;
}

function useChosen(items: readonly InboxItem[]): Chosen {
  const [state, setState] = useState({ choice: NOTHING_CHOSEN, items });
  const movedAt = useRef(-SEEN_MS);
  if (state.items !== items) setState({ choice: followChoice(state.choice, state.items, items), items });
  const { id, moves } = state.choice;
  useEffect(() => {
    if (moves > 0) movedAt.current = performance.now();
  }, [moves]);
  return {
    chosen: id,
    choose: (wanted) => {
      movedAt.current = -SEEN_MS;
      setState((before) => ({ ...before, choice: { ...before.choice, id: wanted } }));
    },
    hasJustMoved: () => performance.now() - movedAt.current < SEEN_MS,
  };
}

interface Deeds {
  choose(id: string): void;
  decide(item: InboxItem, decision: 'allow' | 'deny'): void;
  hide(id: string): void;
  /** Keys that decide do nothing now. */
  isHeld(): boolean;
}

function useInboxKeys(items: readonly InboxItem[], chosen: string | null, deeds: Deeds): void {
  useKeys((key, event) => {
    const index = items.findIndex(({ id }) => id === chosen);
    const item = items[index];
    const target = key === 'j' ? items[index + 1] : key === 'k' ? items[index - 1] : undefined;
    if (target !== undefined) deeds.choose(target.id);
    if (key === 'j' || key === 'k') return true;
    if (item === undefined || event.repeat) return false;
    if ((key === 'a' || key === 'd') && deeds.isHeld()) return true;
    if (key === 'a' && item.kind === 'approval') deeds.decide(item, 'allow');
    else if (key === 'd' && item.kind === 'approval') deeds.decide(item, 'deny');
    else if (key === 'd' && item.kind !== 'question') deeds.hide(item.id);
    else if (key === 'o' || (key === 'Enter' && event.target === document.body)) navigate(pathOf(item));
    else return false;
    return true;
  });
}

export function pathOf(item: InboxItem): string {
  switch (item.kind) {
    case 'approval':
      return runPath(item.approval.runId);
    case 'question':
      return runPath(item.question.runId);
    case 'failure':
      return runPath(item.run.runId);
    case 'work':
      return runPath(item.run.runId, 'diff');
  }
}
