import { useRef } from 'react';
import { useApp } from '../live/app-context.ts';
import { useAction, type Action } from '../live/use-action.ts';
import type { InboxItem } from './inbox-items.ts';
import { useWholeCalls, type WholeCalls } from './use-whole-calls.ts';

export interface Deciding {
  readonly action: Action;
  readonly calls: WholeCalls;
  decide(item: InboxItem, decision: 'allow' | 'deny'): void;
}

/** Decides about a call: once, and yes only to one of which all is shown. */
export function useDecide(onDecided: () => void): Deciding {
  const { client } = useApp();
  const action = useAction();
  const calls = useWholeCalls();
  const sent = useRef(new Set<string>());
  const decide = (item: InboxItem, decision: 'allow' | 'deny') => {
    if (item.kind !== 'approval' || sent.current.has(item.id)) return;
    if (decision === 'allow' && !calls.isShown(item.id)) return calls.open(item.id);
    sent.current.add(item.id); // it stays in the list for a moment
    void action
      .run(() => client.send('POST', `/v1/approvals/${item.id}/decision`, { decision }))
      .then((isSent) => {
        if (!isSent) sent.current.delete(item.id);
        onDecided();
      });
  };
  return { action, calls, decide };
}
