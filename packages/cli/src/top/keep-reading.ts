/** Reads an open project again and again for the screen: soon after something happens, and otherwise now and then. */
import { existsSync } from 'node:fs';
import { findDaemon, type Caisson } from '@caisson/engine';
import { usesDaemon } from '../daemon-choice.ts';
import { NEWS, readResidents, readRuns } from './read-top.ts';
import type { TopScreen } from './top-screen.ts';
import type { TopData } from './top-state.ts';

/** WT1 */
const BUSY_MS = 1000;
const IDLE_MS = 5000;
const RESIDENTS_MS = 5000;
const DAEMON_MS = 15_000;

/** Returns when the screen ends, or the project has to be opened again (WT2); throws what reading throws. */
export async function keepReading(
  caisson: Caisson,
  screen: TopScreen,
  stateDir: string | undefined,
): Promise<void> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  if (screen.ended.aborted) return;
  screen.ended.addEventListener('abort', stop);
  const bell = createBell(stopping.signal);
  let failure: Error | null = null;
  // It is not waited for beside the bell: each wait would stay with it for as long as the screen is open.
  const news = watchNews(caisson, stopping.signal, bell.ring).catch((error: Error) => {
    if (!stopping.signal.aborted) failure = error;
    stop();
  });
  try {
    const isNewer = createOutlook(caisson, stateDir);
    const residents = createResidentsReader(caisson);
    while (!stopping.signal.aborted) {
      const data = { runs: await readRuns(caisson), residents: await residents() };
      if (stopping.signal.aborted || (await isNewer(data))) break;
      screen.show(data);
      const isBusy = data.runs.some(({ live }) => live !== undefined);
      await bell.wait(BUSY_MS, isBusy ? BUSY_MS : IDLE_MS);
    }
  } finally {
    stop();
    screen.ended.removeEventListener('abort', stop);
    await news;
  }
  if (failure !== null) throw failure as Error;
}

/** Never resolves before it is stopped, and rejects if the project cannot be followed. */
async function watchNews(caisson: Caisson, signal: AbortSignal, ring: () => void): Promise<void> {
  for await (const event of caisson.follow({ types: NEWS, signal })) if (event.seq > 0) ring();
}

interface Bell {
  ring(): void;
  /** Until it was rung, but at least the first time; and no longer than the second. */
  wait(leastMs: number, mostMs: number): Promise<void>;
}

function createBell(signal: AbortSignal): Bell {
  let isRung = false;
  let wake = (): void => undefined;
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  signal.addEventListener('abort', () => wake());
  return {
    ring() {
      if (isRung) return;
      isRung = true;
      wake();
    },
    async wait(leastMs, mostMs) {
      const startedMs = performance.now();
      if (!isRung && !signal.aborted) await sleep(mostMs);
      const restMs = startedMs + leastMs - performance.now();
      if (isRung && restMs > 0 && !signal.aborted) await sleep(restMs);
      isRung = false;
    },
  };
}

/** They change rarely, and ask for three lists. */
function createResidentsReader(caisson: Caisson): () => Promise<TopData['residents']> {
  let atMs = -Infinity;
  let last: TopData['residents'] = null;
  return async () => {
    if (performance.now() - atMs < RESIDENTS_MS) return last;
    last = await readResidents(caisson);
    atMs = performance.now();
    return last;
  };
}

/** Whether the project is better opened again: it got its state folder, or a daemon. */
function createOutlook(
  { config }: Caisson,
  stateDir: string | undefined,
): (data: TopData) => Promise<boolean> {
  const hadState = existsSync(config.stateDir);
  let lookedMs = performance.now();
  return async ({ residents }) => {
    if (!hadState) return existsSync(config.stateDir);
    if (residents !== null || !usesDaemon() || performance.now() - lookedMs < DAEMON_MS) return false;
    lookedMs = performance.now();
    return (await findDaemon({ stateDir })).kind === 'answers';
  };
}
