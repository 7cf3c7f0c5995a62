/** Residents in a process that serves nothing: what can be read without a daemon. */
import type { ResidentsApi } from '../caisson-contract.ts';
import { listSchedules, NoDaemonError } from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import { readSchedules } from './describe-schedule.ts';
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
  const refuse = (): Promise<never> =>
    Promise.reject(
      new NoDaemonError('no daemon serves this project, and only a daemon has residents', {
        remedy: 'Start one: caisson up -d.',
      }),
    );
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
