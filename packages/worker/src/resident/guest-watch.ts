/** What ends a guest from outside: it is not ready in time, does not answer, or fills its disk. */
import {
  findHiding,
  measureTree,
  measureUnlinked,
  watchGrowth,
  type GrowthWatch,
  type GrowthWatchOptions,
  type SandboxProcess,
} from '@caisson/ground';
import type { ResidentEnding, ResidentJob } from '@caisson/protocol';
import type { GuestLink } from './guest-link.ts';

const MAX_PING_MS = 2000;

export type EndGuest = (why: ResidentEnding['why'], detail: string) => void;

export interface AnswerWatch {
  /** The guest has loaded its files. */
  ready(): void;
  pong(at: number): void;
  stop(): void;
}

/** A guest that we do not read ourselves, because the host does not, is not silent. */
export function watchAnswers(
  { readyMs, unresponsiveMs }: Pick<ResidentJob, 'readyMs' | 'unresponsiveMs'>,
  link: GuestLink,
  end: EndGuest,
): AnswerWatch {
  const late = setTimeout(() => end('not-ready', `it was not ready within ${readyMs} ms`), readyMs);
  /** When the ping that has no answer yet was sent. */
  let asked: number | null = null;
  let isReady = false;
  const look = (): void => {
    const now = performance.now();
    if (!isReady) return;
    if (link.isPaused()) asked = null;
    else if (asked === null) link.send({ kind: 'ping', at: (asked = now) });
    else if (now - asked > unresponsiveMs)
      end('unresponsive', `it has not answered for ${Math.round(now - asked)} ms`);
  };
  const timer = setInterval(look, Math.min(MAX_PING_MS, unresponsiveMs / 4));
  return {
    ready() {
      isReady = true;
      clearTimeout(late);
    },
    pong(at) {
      if (at === asked) asked = null;
    },
    stop() {
      clearTimeout(late);
      clearInterval(timer);
    },
  };
}

/**
 * Its state folder may grow up to the limit, with what is in it already: one that is larger ends the guest before it begins, as
 * each start could add to it. A granted folder may grow by as much while this guest lives.
 */
export async function watchDisk(
  job: ResidentJob,
  running: () => SandboxProcess | null,
  end: EndGuest,
): Promise<() => Promise<void>> {
  const cap = job.grant.limits.disk;
  if (cap === undefined) return () => Promise.resolve();
  const watches = await Promise.all([
    watchState(job, cap, running, end),
    ...job.grant.write.map((folder) =>
      watchFolder(folder, cap, running, (growth, why) =>
        end(
          'disk',
          `the folder ${folder}, which it may write to, has grown by ${growth} bytes since it was started, the limit is ` +
            `${cap}${why}: remove what is not needed, or raise its disk`,
        ),
      ),
    ),
  ]);
  return async () => {
    await Promise.all(watches.map((watch) => watch.stop()));
  };
}

async function watchState(
  { key, paths: { state } }: ResidentJob,
  cap: number,
  running: () => SandboxProcess | null,
  end: EndGuest,
): Promise<GrowthWatch> {
  const bytes = await measureTree(state);
  const exceeded = (growth: number, why: string): void =>
    end(
      'disk',
      `its state folder ${state} has ${bytes + growth} bytes, the limit is ${cap}${why}: ` +
        `remove what it does not need from there, or raise its disk; then caisson residents reset ${key}`,
    );
  if (bytes > cap) exceeded(0, '');
  return watchFolder(state, Math.max(0, cap - bytes), running, exceeded, { mustBeCounted: true });
}

function watchFolder(
  path: string,
  maxGrowthBytes: number,
  running: () => SandboxProcess | null,
  onExceeded: (growth: number, why: string) => void,
  more: Partial<GrowthWatchOptions> = {},
): Promise<GrowthWatch> {
  const pidOf = ({ initPid, pid }: SandboxProcess): number => initPid ?? pid;
  const ask = <T>(otherwise: T, work: (pid: number) => T): T => {
    const process = running();
    return process === null ? otherwise : work(pidOf(process));
  };
  return watchGrowth({
    ...more,
    path,
    maxGrowthBytes,
    unseenBytes: () => ask(0, (pid) => measureUnlinked(pid, path)),
    findHiding: () => ask(null, (pid) => findHiding(pid, path, [process.pid, process.ppid])),
    onExceeded: (growth, why) => onExceeded(growth, why ? ` (${why})` : ''),
  });
}
