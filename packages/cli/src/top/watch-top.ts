/**
 * `caisson top` on a terminal: opens the project, reads it and draws it, until a key, a signal or the end of the terminal
 * ends it.
 *
 * WT1  Redraws at most twice a second, but for keys; reads at most once a second, and every 5 s while nothing runs.
 * WT2  A daemon that goes away, or comes, does not end it: the project is opened again, with or without one.
 * WT3  Nothing is printed but the screen while it is open; notes become its message.
 */
import { isDaemonLoss } from '@caisson/engine';
import type { Output } from '../output.ts';
import { withCaissonToRead } from '../with-caisson.ts';
import { keepReading } from './keep-reading.ts';
import { messageOf, TopScreen } from './top-screen.ts';
import type { TopState } from './top-state.ts';

const REOPEN_MS = 2000;

export async function watchTop(first: TopState, stateDir: string | undefined, output: Output): Promise<void> {
  const screen = new TopScreen(first, output);
  const { ended } = screen;
  try {
    while (!ended.aborted)
      try {
        await withCaissonToRead(stateDir, screen.quietOutput(), (caisson) =>
          screen.use(caisson, () => keepReading(caisson, screen, stateDir)),
        );
      } catch (error) {
        if (!screen.isOpen) throw error; // nothing was shown yet
        screen.say(isDaemonLoss(error) ? 'The daemon went away. This is the record.' : messageOf(error));
        if (!isDaemonLoss(error)) await screen.pause(REOPEN_MS);
      }
  } finally {
    screen.close();
  }
}
