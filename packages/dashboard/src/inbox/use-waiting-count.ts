import type { Question } from '@caisson/protocol';
import { useEffect, useRef } from 'react';
import type { Approval } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAnswer } from '../live/use-answer.ts';
import { notifyWaiting } from './notifications.ts';

/** How many calls and questions wait for a person; a rise is notified. */
export function useWaitingCount(): number {
  const { client } = useApp();
  const { value } = useAnswer(
    'waiting',
    async (signal) => {
      const [approvals, questions] = await Promise.all([
        client.get<Approval[]>('/v1/approvals', {}, signal),
        client.get<Question[]>('/v1/questions', { status: 'open' }, signal),
      ]);
      return approvals.filter(({ status }) => status === 'open').length + questions.length;
    },
    ({ type }) => /^(approval|question)\./.test(type),
  );
  const count = value ?? 0;
  const before = useRef(count);
  useEffect(() => {
    if (count > before.current) notifyWaiting(count);
    before.current = count;
  }, [count]);
  return count;
}
