/** What the runs of a session share, and the files that a run left. */
import { ApiInputs, definedOnly } from '@caisson/protocol';
import { bytes, cutPage, json, list } from './define-operation.ts';

/** A person or a program that is no run. */
const NO_RUN = { runId: null };

export const SHARED_OPERATIONS = {
  sessions: list()(
    'GET /v1/sessions',
    () => ApiInputs.page,
    async ({ caisson }, page) => cutPage(await caisson.sessions.list(), page, ({ name }) => name),
    ({ name }) => name,
  ),
  board: list()(
    'GET /v1/sessions/:session/board',
    () => ApiInputs.session,
    async ({ caisson }, { session, ...page }) =>
      cutPage(await caisson.sessions.board(session).read(), page, placeOf),
    placeOf,
  ),
  writeBoard: json(
    'POST /v1/sessions/:session/board',
    () => ApiInputs.writeBoard,
    ({ caisson }, { session, key, value, ...how }) =>
      caisson.sessions.board(session).write({ ...definedOnly(how), key, value, by: NO_RUN }),
  ),
  removeFromBoard: json(
    'DELETE /v1/sessions/:session/board/:namespace/:key',
    () => ApiInputs.boardKey,
    async ({ caisson }, { session, namespace, key }) => ({
      isRemoved: await caisson.sessions.board(session).remove(namespace, key),
    }),
  ),
  findings: list()(
    'GET /v1/sessions/:session/findings',
    () => ApiInputs.session,
    async ({ caisson }, { session, ...page }) =>
      cutPage(await caisson.sessions.context(session).read(), page, ({ seq }) => seq),
    ({ seq }) => seq,
  ),
  reportFinding: json(
    'POST /v1/sessions/:session/findings',
    () => ApiInputs.reportFinding,
    ({ caisson }, { session, key, value }) =>
      caisson.sessions.context(session).report({ key, value, source: NO_RUN }),
  ),
  resetSession: json(
    'POST /v1/sessions/:session/reset',
    () => ApiInputs.sessionName,
    async ({ caisson }, { session }) => ({ isReset: await caisson.sessions.reset(session) }),
  ),
  removeSession: json(
    'DELETE /v1/sessions/:session',
    () => ApiInputs.sessionName,
    async ({ caisson }, { session }) => {
      await caisson.sessions.remove([session]);
      return {};
    },
  ),
  outputs: list()(
    'GET /v1/runs/:run/outputs',
    () => ApiInputs.outputs,
    async (host, { run, ...page }) => cutPage(await host.bytes.outputs(run), page, ({ path }) => path),
    ({ path }) => path,
  ),
  output: bytes(
    'GET /v1/runs/:run/outputs/:path{.+}',
    () => ApiInputs.output,
    (host, { run, path }) => host.bytes.output(run, path),
  ),
};

function placeOf({ namespace, key }: { readonly namespace: string; readonly key: string }): string {
  return `${namespace}/${key}`;
}
