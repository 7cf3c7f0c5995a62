/** Residents in a process that serves nothing: what can be read without a daemon. */
import type { ResidentsApi } from '../caisson-contract.ts';
import { listSchedules, NoDaemonError } from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import { readSchedules } from './describe-schedule.ts';
import { findDaemonOf, requireAnswer } from './find-daemon.ts';
import { findResidentKey } from './find-resident.ts';
import { followResidentLog } from './follow-resident-log.ts';
import { requireThread, resolveThreadId } from './read-threads.ts';

/** What needs no daemon. */
export function createResidentReader(
  engine: Engine,
): Pick<ResidentsApi, 'threads' | 'thread' | 'logs' | 'schedules'> {
  const { ledger, config } = engine;
  return {
    threads: async (filter) => ledger.threads(filter),
    thread: async (thread) => await requireThread(ledger, resolveThreadId(ledger, thread)),
    // An unknown name is thrown to the reader, as from another process.
    async *logs(resident, how) {
      yield* followResidentLog(engine, findResidentKey(config, resident), how);
    },
    schedules: async () => listSchedules(engine, await readSchedules(config)),
  };
}

export function createResidentsApi(engine: Engine): ResidentsApi {
  /** Also where there is a daemon, and this process goes on without it. */
  const refuse = async (): Promise<never> => {
    const { pid } = requireAnswer(await findDaemonOf(engine.config));
    throw new NoDaemonError(
      `only the daemon of this project (pid ${pid}) has residents, and it is not asked`,
      {
        remedy:
          'Leave out --no-daemon and CAISSON_NO_DAEMON. Where it has another version: caisson up -d --replace.',
      },
    );
  };
  return {
    ...createResidentReader(engine),
    senses: refuse,
    workflows: refuse,
    list: refuse,
    trigger: refuse,
    startThread: refuse,
    cancelThread: refuse,
    resumeThread: refuse,
    reset: refuse,
    drain: refuse,
    restart: refuse,
  };
}
