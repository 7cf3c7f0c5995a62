/** The operations of senses, workflows, threads and schedules. */
import { ApiInputs, definedOnly } from '@caisson/protocol';
import { chunks, cutPage, json, list } from './define-operation.ts';

export const RESIDENT_OPERATIONS = {
  senses: list()(
    'GET /v1/senses',
    () => ApiInputs.page,
    async ({ caisson }, page) => cutPage(await caisson.residents.senses(), page, ({ name }) => name),
    ({ name }) => name,
  ),
  triggerSense: json(
    'POST /v1/senses/:sense/trigger',
    () => ApiInputs.sense,
    ({ caisson }, { sense }) => caisson.residents.trigger(sense),
  ),
  workflows: list()(
    'GET /v1/workflows',
    () => ApiInputs.page,
    async ({ caisson }, page) => cutPage(await caisson.residents.workflows(), page, ({ name }) => name),
    ({ name }) => name,
  ),
  startThread: json(
    'POST /v1/workflows/:workflow/threads',
    () => ApiInputs.startThread,
    ({ caisson }, { workflow, payload, idempotencyKey }) =>
      caisson.residents.startThread(workflow, payload, definedOnly({ idempotencyKey })),
  ),
  threads: list()(
    'GET /v1/threads',
    () => ApiInputs.threads,
    ({ caisson }, filter) => caisson.residents.threads(definedOnly(filter)),
    ({ threadId }) => threadId,
  ),
  thread: json(
    'GET /v1/threads/:thread',
    () => ApiInputs.thread,
    ({ caisson }, { thread }) => caisson.residents.thread(thread),
  ),
  cancelThread: json(
    'POST /v1/threads/:thread/cancel',
    () => ApiInputs.thread,
    async ({ caisson }, { thread }) => ({ isCancelled: await caisson.residents.cancelThread(thread) }),
  ),
  resumeThread: json(
    'POST /v1/threads/:thread/resume',
    () => ApiInputs.thread,
    ({ caisson }, { thread }) => caisson.residents.resumeThread(thread),
  ),
  residents: list()(
    'GET /v1/residents',
    () => ApiInputs.page,
    async ({ caisson }, page) => cutPage(await caisson.residents.list(), page, ({ key }) => key),
    ({ key }) => key,
  ),
  resetResident: json(
    'POST /v1/residents/:resident/reset',
    () => ApiInputs.resident,
    async ({ caisson }, { resident }) => {
      await caisson.residents.reset(resident);
      return {};
    },
  ),
  drainResident: json(
    'POST /v1/residents/:resident/drain',
    () => ApiInputs.resident,
    async ({ caisson }, { resident }) => {
      await caisson.residents.drain(resident);
      return {};
    },
  ),
  restartResident: json(
    'POST /v1/residents/:resident/restart',
    () => ApiInputs.resident,
    async ({ caisson }, { resident }) => {
      await caisson.residents.restart(resident);
      return {};
    },
  ),
  residentLog: chunks(
    'GET /v1/residents/:resident/log',
    () => ApiInputs.residentLog,
    ({ caisson }, { resident, follow }, signal) =>
      caisson.residents.logs(resident, { ...definedOnly({ follow }), signal }),
  ),
  schedules: list()(
    'GET /v1/schedules',
    () => ApiInputs.page,
    async ({ caisson }, page) => cutPage(await caisson.residents.schedules(), page, ({ name }) => name),
    ({ name }) => name,
  ),
};
