import { useEffect } from 'react';
import { useApp } from '../live/app-context.ts';
import { useAnswer, type Answer } from '../live/use-answer.ts';
import { findEnded, type FoundEnded } from './find-ended.ts';
import { loadResidents, type ResidentAnswers } from './resident-trouble.ts';
import { loadWaiting, type Waiting } from './load-waiting.ts';

/** Senses may look many times a second. */
const RESIDENTS_AGAIN_MS = 1000;

export interface InboxAnswers {
  /** Calls and questions: they are there at once. */
  readonly waiting: Answer<Waiting>;
  /** Failures and work, which may have to be looked for among many runs. */
  readonly ended: Answer<FoundEnded>;
  readonly residents: Answer<ResidentAnswers>;
}

export function useInbox(hidden: ReadonlySet<string>): InboxAnswers {
  const { client } = useApp();
  const waiting = useAnswer(
    'inbox:waiting',
    (signal) => loadWaiting(client, signal),
    ({ type }) => /^(approval|question|dispatch)\./.test(type),
  );
  const ended = useAnswer(
    'inbox:ended',
    (signal) => findEnded(client, hidden, signal),
    ({ type }) => /^dispatch\.(finished|failed|cancelled)$|^run\.(applied|forgotten)$/.test(type),
  );
  const residents = useAnswer(
    'inbox:residents',
    (signal) => loadResidents(client, signal),
    ({ type }) => /^(sense\.computed$|thread\.(accepted|ended)$|resident\.)/.test(type),
    RESIDENTS_AGAIN_MS,
  );
  const { reload } = ended;
  const isCut = ended.value?.isCut === true;
  // Another one comes up for each that is hidden.
  useEffect(() => {
    if (isCut) reload();
  }, [hidden, isCut, reload]);
  return { waiting, ended, residents };
}
