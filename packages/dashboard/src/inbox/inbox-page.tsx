import { useMemo } from 'react';
import { Link } from '../router/link.tsx';
import { navigate } from '../router/location.ts';
import { useKeys } from '../ui/keys.ts';
import { EmptyState, Loading, Notice, ProblemNotice } from '../ui/notices.tsx';
import { MAX_LOOKED } from './find-ended.ts';
import { useHiddenEntries } from './hidden-entries.ts';
import { buildInbox, idsOf, pathOf, type InboxItem } from './inbox-items.ts';
import { InboxCard } from './inbox-card.tsx';
import { LateEntries } from './late-entries.tsx';
import { findTroubles } from './resident-trouble.ts';
import { useArranged } from './use-arranged.ts';
import { useDecide } from './use-decide.ts';
import { useInbox } from './use-inbox.ts';

/** Cards have any height, so a list of them is drawn as it is, and only so long. */
const MAX_DRAWN = 300;
const NOTHING: readonly InboxItem[] = [];
const NO_RUNS = { failures: [], work: [] };

export function InboxPage() {
  const [hidden, hide] = useHiddenEntries();
  const { waiting, ended, residents } = useInbox(hidden);
  const { action, calls, decide } = useDecide(waiting.reload);
  const urgent = useMemo(
    () =>
      waiting.value === null
        ? NOTHING
        : buildInbox(
            {
              ...{ ...NO_RUNS, ...ended.value, ...waiting.value },
              troubles: residents.value === null ? [] : findTroubles(residents.value, hidden),
            },
            hidden,
          ),
    [waiting.value, ended.value, residents.value, hidden],
  );
  const inbox = useArranged(urgent);
  const { chosen, choose } = inbox;
  const items = inbox.items.slice(0, MAX_DRAWN);
  const isLoaded = waiting.value !== null && ended.value !== null && residents.value !== null;
  const problem = waiting.problem ?? ended.problem ?? residents.problem;
  useInboxKeys(items, chosen, { choose, decide, hide, isHeld: () => action.isBusy || inbox.hasJustMoved() });
  return (
    <div className="page inbox">
      <h1>Inbox</h1>
      <Lead />
      <ProblemNotice problem={action.problem ?? problem} />
      {isLoaded && items.length === 0 ? <NothingWaits /> : null}
      <div>
        <LateEntries count={inbox.late} onShow={inbox.sort} />
        <ul className="cards" aria-label="What waits for you">
          {items.map((item) => (
            <InboxCard
              key={item.id}
              item={item}
              isChosen={item.id === chosen}
              isBusy={action.isBusy || inbox.isSettling}
              calls={calls}
              onChoose={() => choose(item.id)}
              onDecide={(decision) => decide(item, decision)}
              onHide={() => hide(idsOf(item))}
              onChanged={waiting.reload}
            />
          ))}
        </ul>
      </div>
      {isLoaded || problem !== null ? null : <Loading what="the inbox" />}
      <RestNotice
        isMore={
          inbox.items.length > MAX_DRAWN || waiting.value?.isCut === true || ended.value?.isCut === true
        }
        isUnseen={ended.value?.isUnseen === true}
      />
    </div>
  );
}

/** What waits and is not listed. */
function RestNotice({ isMore, isUnseen }: { isMore: boolean; isUnseen: boolean }) {
  return (
    <>
      {isMore ? (
        <Notice tone="info">More wait than are here. They come up as these are decided.</Notice>
      ) : null}
      {isUnseen ? (
        <Notice tone="info">
          Failures and work are looked for among the newest {MAX_LOOKED.toLocaleString('en-US')} runs of each
          kind. Older ones are on the page of <Link to="/runs">runs</Link>.
        </Notice>
      ) : null}
    </>
  );
}

function Lead() {
  return (
    <p className="faint lead">
      What waits for you.{' '}
      <span className="key-hints">
        <kbd>j</kbd> <kbd>k</kbd> choose, <kbd>a</kbd> allow, <kbd>d</kbd> deny or hide, <kbd>Enter</kbd>{' '}
        open.
      </span>
    </p>
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

interface Deeds {
  choose(id: string): void;
  decide(item: InboxItem, decision: 'allow' | 'deny'): void;
  hide(ids: readonly string[]): void;
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
    else if (key === 'd' && item.kind !== 'question') deeds.hide(idsOf(item));
    else if (key === 'o' || (key === 'Enter' && event.target === document.body)) navigate(pathOf(item));
    else return false;
    return true;
  });
}
