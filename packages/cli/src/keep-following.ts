/**
 * A run that is followed on when its daemon goes away. The agent goes on without it, and what is recorded is in the project:
 * from then on this process reads it there, until the run has ended, whichever daemon adopts it.
 */
import { createCaisson, isDaemonLoss, type Caisson, type RunHandle } from '@caisson/engine';
import { definedOnly } from '@caisson/protocol';
import type { Output } from './output.ts';
import { VERSION } from './version.ts';

export interface KeptRun extends RunHandle {
  /** Closes what was opened for it. */
  close(): Promise<void>;
}

export function keepFollowing(handle: RunHandle, stateDir: string | undefined, output: Output): KeptRun {
  let here: Promise<Caisson> | null = null;
  let current: Promise<RunHandle> = Promise.resolve(handle);
  let cancelled: Parameters<RunHandle['cancel']> | null = null;
  const goOn = (error: unknown): Promise<RunHandle> => {
    if (!isDaemonLoss(error)) throw error;
    output.note(`note: the daemon went away; ${handle.runId} is followed from its record`);
    here = openHere(stateDir, output);
    return (current = here.then(attach));
  };
  const attach = async (caisson: Caisson): Promise<RunHandle> => {
    const found = await caisson.attach(handle.runId);
    if (cancelled !== null) found.cancel(...cancelled); // nobody knows whether the daemon still obeyed
    return found;
  };
  /** Both ways may find it out; the second one joins the first. */
  const next = async (error: unknown): Promise<RunHandle> => (here === null ? goOn(error) : current);
  const ended = handle.ended.catch(async (error: unknown) => (await next(error)).ended);
  ended.catch(() => undefined); // those who wait for it get it
  return {
    ...handle,
    ended,
    async *events({ after = 0, ...how } = {}) {
      let last = after;
      try {
        for await (const event of handle.events({ after, ...how })) {
          last = Math.max(last, event.seq);
          yield event;
        }
      } catch (error) {
        yield* (await next(error)).events({ ...how, after: last });
      }
    },
    cancel(...how) {
      cancelled = how;
      void current.then((one) => one.cancel(...how)).catch(() => undefined); // the end of the run reports it
    },
    send: async (body) => (await current).send(body),
    close: async () => void (await here?.then((caisson) => caisson.close()).catch(() => undefined)),
  };
}

/** It reads, and cancels if a person asks for it. What cannot be settled now is left to others. */
function openHere(stateDir: string | undefined, output: Output): Promise<Caisson> {
  return createCaisson({
    ...{ version: VERSION, makesState: false, daemon: false },
    onUnsettled: ({ message }) => output.note(`warning: ${message}`),
    ...definedOnly({ stateDir }),
  });
}
