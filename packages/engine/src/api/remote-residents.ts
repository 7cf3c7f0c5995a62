import type { Caisson } from '../caisson-contract.ts';
import { call, callForAll, callForChunks } from './call.ts';
import type { Connection } from './contract.ts';
import { OPERATIONS } from './operations.ts';

export function createRemoteResidents(connection: Connection): Caisson['residents'] {
  const { resetResident, drainResident, restartResident } = OPERATIONS;
  const onResident = (operation: typeof resetResident) => async (resident: string) => {
    await call(connection, operation, { resident });
  };
  return {
    senses: () => callForAll(connection, OPERATIONS.senses, {}),
    workflows: () => callForAll(connection, OPERATIONS.workflows, {}),
    list: () => callForAll(connection, OPERATIONS.residents, {}),
    trigger: (sense) => call(connection, OPERATIONS.triggerSense, { sense }),
    startThread: (workflow, payload, { idempotencyKey } = {}) =>
      call(connection, OPERATIONS.startThread, { workflow, payload, idempotencyKey }),
    threads: ({ status, ...filter } = {}) =>
      callForAll(connection, OPERATIONS.threads, {
        ...filter,
        status: status === undefined ? undefined : [status].flat(),
      }),
    thread: (thread) => call(connection, OPERATIONS.thread, { thread }),
    cancelThread: async (thread) => (await call(connection, OPERATIONS.cancelThread, { thread })).isCancelled,
    resumeThread: (thread) => call(connection, OPERATIONS.resumeThread, { thread }),
    reset: onResident(resetResident),
    drain: onResident(drainResident),
    restart: onResident(restartResident),
    logs: (resident, { follow, signal } = {}) =>
      callForChunks(connection, OPERATIONS.residentLog, { resident, follow }, signal),
    schedules: () => callForAll(connection, OPERATIONS.schedules, {}),
  };
}
