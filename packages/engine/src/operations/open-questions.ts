import { definedOnly } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import { joinVariables, requireToAnswer, type GivenWithAnswer, type RunHandle } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { createQuestions, type Questions } from '../questions/index.ts';
import { isForgotten, requireRemembered } from './run-forgotten.ts';
import { resolveRunId } from './resolve-run-id.ts';
import { readRequest } from './run-request.ts';

export interface Answering {
  readonly given?: GivenWithAnswer | undefined;
  /** See {@link QuestionRooms.beginRun}. */
  beginRun(): Promise<void>;
}

/** Who only lists questions starts no run. */
const LISTING: Answering = {
  beginRun: () => Promise.reject(new Error('nothing is answered here')),
};

/** The questions of this project's runs, answered by a run with the same task and all that the agent left. */
export function openQuestions(
  engine: Engine,
  { given = {}, beginRun }: Answering = LISTING,
): Questions<RunHandle> {
  return createQuestions({
    ...engine,
    isHostAlive: (hostId) => engine.hosts.isAlive(hostId),
    resolveRun: (given) => resolveRunId(engine.ledger, given),
    isForgotten: (runId) => isForgotten(engine, runId),
    beginRun,
    requireContents: (runId) => void requireRemembered(engine, runId),
    readRequest: (runId) => readRequest(engine, runId),
    async continueRun(continues, next) {
      const stored = await readRequest(engine, continues);
      const { env: _env, passEnv: _passed, lackingEnv: _lacking, ...rest } = stored;
      const { within = rest.within } = given;
      const request = { ...rest, ...joinVariables(stored, given), ...definedOnly({ within }) };
      requireToAnswer(request, engine.rooms.settings);
      const { result } = await describeRun(engine.rooms, continues);
      const resume = definedOnly({ resume: result?.resume });
      return engine.dispatcher.dispatch({ ...request, ...resume, ...next, continues });
    },
  });
}
