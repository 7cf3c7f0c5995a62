/** Every operation of the contract that travels: its route, its input, and what it does with a `Caisson`. */
import { ApiInputs, definedOnly, type Caller } from '@caisson/protocol';
import { ACCESS_OPERATIONS } from './access-operations.ts';
import type { ApiHost } from './contract.ts';
import { bytes, chunks, cutPage, events, json, list, tagged } from './define-operation.ts';
import { sendCollection } from './gc-progress.ts';
import { REGISTRY_OPERATIONS } from './registry-operations.ts';
import { RESIDENT_OPERATIONS } from './resident-operations.ts';
import { SHARED_OPERATIONS } from './shared-operations.ts';
import { WAITING_OPERATIONS } from './waiting-operations.ts';

export type { Operation } from './define-operation.ts';

const own = ({ forCaller }: ApiHost, caller: Caller) => forCaller(caller);

/** What is known of runs, and what they left. */
const READING = {
  runs: list()(
    'GET /v1/runs',
    () => ApiInputs.runs,
    ({ caisson }, { unsealed, ...filter }) =>
      caisson.runs({ ...definedOnly(filter), ...(unsealed === true ? { unsealed } : {}) }),
    ({ runId }) => runId,
  ),
  find: json(
    'GET /v1/runs/:run/id',
    () => ApiInputs.run,
    async ({ caisson }, { run }) => ({
      runId: await caisson.find(run),
    }),
  ),
  show: tagged(
    json(
      'GET /v1/runs/:run',
      () => ApiInputs.run,
      ({ caisson }, { run }) => caisson.show(run),
    ),
    ({ live }) => live === undefined,
  ),
  ended: {
    ...json(
      'GET /v1/runs/:run/ended',
      () => ApiInputs.run,
      async ({ caisson }, { run }, signal) => (await caisson.attach(run, { signal })).ended,
    ),
    isPatient: true,
  },
  events: list(1000, 1000)(
    'GET /v1/runs/:run/events',
    () => ApiInputs.after,
    ({ caisson }, { run, ...page }) => caisson.events(run, definedOnly(page)),
    ({ seq }) => seq,
  ),
  lastOffset: json(
    'GET /v1/events/last',
    () => ApiInputs.nothing,
    async ({ caisson }) => ({ offset: await caisson.lastOffset() }),
  ),
  follow: events(
    'GET /v1/runs/:run/events/live',
    () => ApiInputs.follow,
    ({ caisson }, { run, ...how }, signal) => caisson.follow(run, { ...definedOnly(how), signal }),
  ),
  followAll: events(
    'GET /v1/events',
    () => ApiInputs.followAll,
    ({ caisson }, how, signal) => caisson.follow({ ...definedOnly(how), signal }),
  ),
  log: bytes(
    'GET /v1/runs/:run/logs/:name',
    () => ApiInputs.log,
    (host, { run, name }) => host.bytes.log(run, name),
  ),
  followLog: chunks(
    'GET /v1/runs/:run/logs/:name/live',
    () => ApiInputs.log,
    ({ caisson }, { run, name }, signal) => caisson.followLog(run, name, { signal }),
  ),
  patch: bytes(
    'GET /v1/runs/:run/patch',
    () => ApiInputs.run,
    (host, { run }) => host.bytes.patch(run),
  ),
  budget: json(
    'GET /v1/budget',
    () => ApiInputs.budget,
    ({ caisson }, { session }) => caisson.budget(session),
  ),
  spend: list(1000, 1000)(
    'GET /v1/spend',
    () => ApiInputs.spend,
    ({ caisson }, filter) => caisson.spend(definedOnly(filter)),
    ({ runId }) => runId,
  ),
  usage: json(
    'GET /v1/usage',
    () => ApiInputs.nothing,
    ({ caisson }) => caisson.usage(),
  ),
  doctor: json(
    'GET /v1/doctor',
    () => ApiInputs.nothing,
    ({ examine }) => examine(),
  ),
  exported: bytes(
    'GET /v1/runs/:run/export',
    () => ApiInputs.run,
    (host, { run }) => host.bytes.exported(run),
  ),
  runtimes: json(
    'POST /v1/runtimes',
    () => ApiInputs.runtimes,
    async (host, { caller }, signal) => (await own(host, caller)).runtimes({ signal }),
  ),
};

/** What starts, steers and stops runs. `dispatch` is beside these: it can have streams. */
const STEERING = {
  continuation: json(
    'POST /v1/runs/:run/continuation',
    () => ApiInputs.continuation,
    async (host, { run, text, changes = {}, caller }) =>
      (await own(host, caller)).continuation(run, text, changes),
  ),
  cancel: json(
    'POST /v1/runs/:run/cancel',
    () => ApiInputs.cancel,
    async ({ caisson }, { run, ...how }) => ({
      outcome: await caisson.cancel(run, definedOnly(how)),
    }),
  ),
  send: json(
    'POST /v1/runs/:run/messages',
    () => ApiInputs.send,
    async ({ caisson }, { run, body }) => ({
      messageId: await caisson.send(run, body),
    }),
  ),
  answer: json(
    'POST /v1/questions/:question/answer',
    () => ApiInputs.answer,
    async (host, { question, answer, caller, given = {} }) => {
      const handle = await (await own(host, caller)).answer(question, answer, definedOnly(given));
      return { runId: handle?.runId ?? null };
    },
  ),
};

/** What keeps, proves and removes the work of runs. */
const KEEPING = {
  saveOutputs: json(
    'POST /v1/runs/:run/outputs',
    () => ApiInputs.saveTo,
    ({ caisson }, { run, to }) => caisson.saveOutputs(run, to),
  ),
  apply: json(
    'POST /v1/runs/:run/apply',
    () => ApiInputs.apply,
    ({ caisson }, { run, ...choice }) => caisson.apply(run, choice),
  ),
  export: json(
    'POST /v1/runs/:run/export',
    () => ApiInputs.saveTo,
    ({ caisson }, { run, to }) => caisson.export(run, to),
  ),
  verify: json(
    'POST /v1/runs/:run/verify',
    () => ApiInputs.verify,
    ({ caisson, readKeys, readWitness }, input) => {
      const { run, trustedKeys, witness } = input;
      return caisson.verify(run, {
        ...(trustedKeys === undefined ? {} : { trustedKeys: readKeys(trustedKeys) }),
        ...(witness === undefined ? {} : { witness: readWitness(witness) }),
      });
    },
  ),
  seal: json(
    'POST /v1/seals',
    () => ApiInputs.seal,
    ({ caisson }, { run }) => caisson.seal(run),
  ),
  forget: json(
    'DELETE /v1/runs/:run',
    () => ApiInputs.run,
    async ({ caisson }, { run }) => ({
      runId: await caisson.forget(run),
    }),
  ),
  drain: json(
    'POST /v1/runs/:run/drained',
    () => ApiInputs.run,
    async ({ caisson }, { run }) => {
      await caisson.drain(run);
      return {};
    },
  ),
  branches: list()(
    'GET /v1/branches',
    () => ApiInputs.page,
    async ({ caisson }, page) => cutPage(await caisson.branches(), page, ({ runId }) => runId, 'falling'),
    ({ runId }) => runId,
  ),
  pushBranch: json(
    'POST /v1/runs/:run/push',
    () => ApiInputs.pushBranch,
    async (host, { run, caller }) => (await own(host, caller)).pushBranch(run),
  ),
  dropBranch: json(
    'DELETE /v1/runs/:run/branch',
    () => ApiInputs.run,
    async ({ caisson }, { run }) => ({ runId: await caisson.dropBranch(run) }),
  ),
  gc: json(
    'POST /v1/gc',
    () => ApiInputs.gc,
    ({ caisson }, how) => caisson.gc(definedOnly(how)),
  ),
  gcWithProgress: chunks(
    'POST /v1/gc/live',
    () => ApiInputs.gc,
    ({ caisson }, how) => sendCollection(caisson, definedOnly(how)),
  ),
};

export const OPERATIONS = {
  ...READING,
  ...STEERING,
  ...KEEPING,
  ...ACCESS_OPERATIONS,
  ...REGISTRY_OPERATIONS,
  ...SHARED_OPERATIONS,
  ...WAITING_OPERATIONS,
  ...RESIDENT_OPERATIONS,
};
/** `dispatch` has a route of its own. */
export type OperationName = keyof typeof OPERATIONS | 'dispatch';
