// The ledger's thread: commits what the main thread appends, over a connection of its own, so that neither a transaction
// nor its fsync holds the event loop. Many appends that wait share one commit, as ever (`group-commit.ts`).

import { parentPort, workerData } from 'node:worker_threads';
import type { Recorded } from '../commits.ts';
import { GroupCommit } from '../group-commit.ts';
import { packError } from '../pack-error.ts';
import { openSqliteStorage } from './sqlite-storage.ts';
import { createThreadTurns } from './write-turns.ts';
import type { Answer, FromThread, Place, ThreadData, ToThread } from './thread-messages.ts';

const { file, identity, patienceMs, endings, turns } = workerData as ThreadData;
const inTurn = createThreadTurns(turns);
const storage = openSqliteStorage(file, undefined, { patienceMs, identity, inTurn });
const group = new GroupCommit(storage, () => undefined, { patienceMs, endings });
let answers: Answer[] = [];

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'close') return void close();
  const { id, events, options } = message;
  group.submit(events, options).then(
    (recorded) => answer({ kind: 'recorded', id, ...describe(recorded) }),
    (error: unknown) => answer({ kind: 'refused', id, error: packError(error) }),
  );
});
post({ kind: 'ready' });

/** The calls of a commit are settled one after the other, without a turn between them: their answers go together. */
function answer(one: Answer): void {
  if (answers.push(one) === 1) queueMicrotask(postAnswers);
}

function postAnswers(): void {
  if (answers.length === 0) return;
  post({ kind: 'committed', answers });
  answers = [];
}

/** The main thread has the text of what it appended: it does not travel back. */
function describe({
  records,
  countBefore,
}: Recorded): Pick<Extract<Answer, { kind: 'recorded' }>, 'events' | 'countBefore'> {
  const toPlace = ({ seq, offset, prevOffset, prevHash, hash }: Place): Place => ({
    seq,
    offset,
    prevOffset,
    prevHash,
    hash,
  });
  return {
    countBefore,
    events: records.map((record) => (record.offset > countBefore ? toPlace(record) : record)),
  };
}

async function close(): Promise<void> {
  await group.drain();
  postAnswers();
  storage.close();
  parentPort?.close();
}

function post(message: FromThread): void {
  parentPort?.postMessage(message);
}
