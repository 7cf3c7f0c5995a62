import { useEffect, useRef } from 'react';
import { useApp } from '../live/app-context.ts';
import { useAnswer } from '../live/use-answer.ts';
import { loadWaiting } from './load-waiting.ts';
import { notifyWaiting } from './notifications.ts';

/** How many calls and questions wait for a person; a rise is notified. */
export function useWaitingCount(): number {
  const { client } = useApp();
  const { value } = useAnswer(
    'waiting',
    (signal) => loadWaiting(client, signal),
    ({ type }) => /^(approval|question)\./.test(type),
  );
  const count = value === null ? 0 : value.approvals.length + value.questions.length;
  const before = useRef(count);
  useEffect(() => {
    if (count > before.current) notifyWaiting(count);
    before.current = count;
  }, [count]);
  return count;
}
