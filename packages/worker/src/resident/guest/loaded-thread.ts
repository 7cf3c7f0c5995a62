/** A thread whose file is being loaded, within a limited time. */
import type { PinnedFileStore } from './pinned-files.ts';
import type { LoadOrder, Outlet } from './serve-guest.ts';
import { startUserThread, type UserThread } from './user-thread.ts';

export interface LoadedThread {
  readonly thread: UserThread;
  /** Why its file cannot be used, or null. Never rejects. */
  readonly problem: Promise<string | null>;
}

export function loadThread(
  { serves, projectRoot, stateFolder, writable, heapBytes, loadMs }: LoadOrder,
  { name, file }: LoadOrder['modules'][number],
  { pinned, outlet }: { readonly pinned: PinnedFileStore; readonly outlet: Outlet },
): LoadedThread {
  const thread = startUserThread({
    start: { serves, name, file, projectRoot, stateFolder, writable },
    heapBytes,
    pinned,
    onStuck: () =>
      void outlet.giveUp(`${name} could not be stopped: it is in a system call that does not return`),
  });
  const problem = new Promise<string | null>((resolve) => {
    const late = setTimeout(() => {
      resolve(`it did not load within ${Math.round(loadMs)} ms`);
      void thread.end();
    }, loadMs);
    thread.onLine = (line) => {
      if (line.kind === 'logged') outlet.log(name, line.text);
      if (line.kind === 'undelivered') outlet.say({ ...line, name });
      if (line.kind !== 'loaded') return;
      clearTimeout(late);
      resolve(line.problem ?? null);
      if (line.problem !== undefined) void thread.end();
    };
    void thread.ended.then(({ detail }) => {
      clearTimeout(late);
      resolve(`it ended while it was loaded: ${detail}`);
    });
  });
  return { thread, problem };
}
