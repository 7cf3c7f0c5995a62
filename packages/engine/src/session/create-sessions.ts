import { mkdirSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifErrno, openBoard, openContextRegistry, type Clock } from '@caisson/ground';
import { SessionName } from '@caisson/protocol';
import type { Sessions, SessionPaths, SessionSummary } from './contract.ts';
import { SessionNameError } from './errors.ts';

export interface SessionsOptions {
  readonly stateDir: string;
  readonly clock: Pick<Clock, 'now'>;
  onReset(name: string): void;
}

export function createSessions({ stateDir, clock, onReset }: SessionsOptions): Sessions {
  const root = join(stateDir, 'sessions');
  const locate = (name: string): SessionPaths => {
    if (!SessionName.safeParse(name).success)
      throw new SessionNameError(`"${name.slice(0, 200)}" is not a valid name for a session`, {
        remedy: 'Use letters, digits, dots, dashes and underscores; at most 64.',
      });
    return { board: join(root, name, 'board.json'), context: join(root, name, 'context.json') };
  };
  const board = (name: string) => openBoard(locate(name).board, clock);
  const context = (name: string) => openContextRegistry(locate(name).context, clock);

  const summarize = async (name: string): Promise<SessionSummary> => ({
    name,
    boardKeys: (await board(name).read()).length,
    findings: (await context(name).read()).length,
    changedAt: (await lastChange(join(root, name))).toISOString(),
  });
  return {
    paths(name) {
      const paths = locate(name);
      mkdirSync(join(root, name), { recursive: true, mode: 0o700 });
      return paths;
    },
    board,
    context,
    async list() {
      const names = (await namesIn(root)).filter((name) => SessionName.safeParse(name).success);
      return Promise.all(names.toSorted().map(summarize));
    },
    async reset(name) {
      const cleared = [await board(name).clear(), await context(name).clear()];
      if (!cleared.includes(true)) return false;
      onReset(name);
      return true;
    },
    async remove(names) {
      for (const name of names) {
        locate(name);
        await rm(join(root, name), { recursive: true, force: true, maxRetries: 3 });
      }
    },
  };
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(ifErrno([], 'ENOENT'));
}

async function lastChange(folder: string): Promise<Date> {
  const times = await Promise.all(
    [folder, ...(await namesIn(folder)).map((name) => join(folder, name))].map(async (path) =>
      stat(path).then(
        (found) => found.mtimeMs,
        () => 0,
      ),
    ),
  );
  return new Date(Math.max(0, ...times));
}
