import type { Caisson } from '../caisson-contract.ts';
import type { Engine } from '../engine.ts';
import { recordAct, warnUnrecorded, type Act, type Actor } from './record-act.ts';

/** The same project for one whose decisions are recorded, and the runs that they start if they have a token or a name. */
export function recordDecisions(caisson: Caisson, engine: Engine, actor: Actor): Caisson {
  const record = (operation: Act, input: Readonly<Record<string, unknown>>): Promise<void> =>
    recordAct(engine, actor, operation, input);
  return {
    ...caisson,
    async dispatch(request, attachment) {
      const handle = await caisson.dispatch(request, attachment);
      await recordStart(engine, actor, handle);
      return handle;
    },
    async dispatchDetached(request, entry) {
      const runId = await caisson.dispatchDetached(request, entry);
      await recordStart(engine, actor, { runId });
      return runId;
    },
    async apply(run, how) {
      await record('apply', { run });
      return caisson.apply(run, how);
    },
    async answer(question, answer, given) {
      await record('answer', { question });
      const handle = await caisson.answer(question, answer, given);
      if (handle !== null) await recordStart(engine, actor, handle);
      return handle;
    },
    async decide(approval, decision) {
      await record('decide', { approval, decision });
      return caisson.decide(approval, decision);
    },
    async cancel(run, how) {
      await record('cancel', { run });
      return caisson.cancel(run, how);
    },
  };
}

/**
 * On the run itself. What says nothing of a start was started by this account, with the command line or the library. The run is
 * accepted: who gets an error for it asks again, and has two.
 */
export async function recordStart(
  engine: Engine,
  actor: Actor,
  { runId, isEarlier }: { readonly runId: string; readonly isEarlier?: boolean },
): Promise<void> {
  const isNamed = actor.token !== undefined || actor.client !== undefined;
  if (!isNamed || isEarlier === true) return;
  await recordAct(engine, actor, 'dispatch', { run: runId }).catch((error: Error) =>
    warnUnrecorded(engine, runId, error),
  );
}
