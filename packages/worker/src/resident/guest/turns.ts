/**
 * The turns of a workflow, each in a thread of its own, which ends with it. One thread has loaded the file in advance, so that
 * a turn does not wait for that.
 */
import type { GuestOrder } from '@caisson/protocol';
import { loadThread, type LoadedThread } from './loaded-thread.ts';
import { createPinnedFiles } from './pinned-files.ts';
import type { LoadOrder, Outlet, Served } from './serve-guest.ts';
import type { ThreadLine, TurnEnding, TurnOrder } from './thread-messages.ts';
import { watchTurn } from './turn-watch.ts';
import type { UserThread } from './user-thread.ts';
import { createPlaces } from './turn-places.ts';
import { createWorkLimit, type WorkLimit } from './work-limit.ts';

interface RunningTurn {
  readonly thread: UserThread;
  readonly limit: WorkLimit;
}

export function openTurns(options: LoadOrder, outlet: Outlet): Served {
  const [module] = options.modules;
  if (module === undefined) throw new Error('a workflow has one file');
  const running = new Map<string, RunningTurn>();
  const places = createPlaces(options.maxTurns);
  const pinned = createPinnedFiles();
  let spare: LoadedThread | null = null;
  const prepare = (): LoadedThread => {
    const loaded = loadThread(options, module, { pinned, outlet });
    spare = loaded;
    void loaded.thread.ended.then(() => {
      if (spare === loaded) spare = null;
    });
    return loaded;
  };
  const take = (): LoadedThread => {
    const loaded = spare ?? prepare();
    spare = null;
    return loaded;
  };

  /** False when there is no thread for it while others have one. Without others, what fills the sandbox is left of earlier turns. */
  const turn = async (order: TurnOrder): Promise<boolean> => {
    const loaded = take();
    const none = loaded.thread.failure();
    if (none !== null && running.size > 0) return false;
    if (none !== null) return outlet.giveUp(`no thread can be started for a turn: ${none.detail}`);
    const outcome = await runTurn(order, loaded, running, { ...outlet, ...options, name: module.name });
    outlet.say({ kind: 'turned', id: order.id, outcome });
    if (spare === null) prepare();
    await loaded.thread.end();
    return true;
  };
  return {
    load: (onLoaded) => void prepare().problem.then((problem) => onLoaded(module.name, problem)),
    take(order) {
      if (order.kind === 'turn') places.add(order, turn);
      else if (order.kind === 'abandon' && places.remove(order.id)) {
        const failure = { kind: 'aborted', detail: order.why } as const;
        outlet.say({ kind: 'turned', id: order.id, outcome: { kind: 'failed', failure } });
      } else takeOrder(order, running);
    },
  };
}

function takeOrder(order: GuestOrder, running: ReadonlyMap<string, RunningTurn>): void {
  if (order.kind === 'abandon') running.get(order.id)?.limit.abort('aborted', order.why, order.graceMs);
  else if (order.kind === 'step-done') {
    const { id, ordinal, ok, value, place, asked } = order;
    running.get(id)?.thread.post({ kind: 'step-done', ordinal, outcome: { ok, value, place, asked } });
  }
}

function runTurn(
  order: TurnOrder,
  { thread, problem }: LoadedThread,
  running: Map<string, RunningTurn>,
  outlet: Outlet & Pick<LoadOrder, 'silenceMs'> & { readonly name: string },
): Promise<TurnEnding> {
  return new Promise((resolve) => {
    const finish = (outcome: TurnEnding): void => {
      if (!running.delete(order.id)) return;
      limit.clear();
      watch.stop();
      const failure = limit.reason() ?? (outcome.kind === 'failed' ? outcome.failure : null);
      resolve(
        failure === null ? outcome : { kind: 'failed', ...(role === undefined ? {} : { role }), failure },
      );
    };
    let role: string | undefined;
    const limit = createWorkLimit(thread, { onKill: () => finish({ kind: 'end' }) });
    const { silenceMs } = outlet;
    const watch = watchTurn(thread, silenceMs, () =>
      limit.abort('timeout', `its code did not give its thread back for ${silenceMs} ms`, 0),
    );
    running.set(order.id, { thread, limit });
    const take = (line: ThreadLine): void => {
      if (line.kind === 'logged') outlet.log(outlet.name, line.text, order.threadId);
      else if (line.kind === 'pong') watch.answered();
      else if (line.kind === 'role') role = line.name;
      else if (line.kind === 'turned') finish(line.outcome);
      else if ((line.kind === 'step' || line.kind === 'worked') && running.has(order.id))
        outlet.say({ ...line, id: order.id });
    };
    void problem.then((refusal) => {
      if (refusal !== null) return finish({ kind: 'failed', failure: { kind: 'crashed', detail: refusal } }); // nothing of its role has begun
      if (limit.reason() !== null) return finish({ kind: 'end' });
      void thread.ended.then((failure) => finish({ kind: 'failed', failure }));
      thread.onLine = take;
      thread.post({ kind: 'turn', turn: order });
    });
  });
}
