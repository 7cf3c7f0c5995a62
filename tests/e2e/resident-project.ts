/** Projects with senses and workflows, what their daemon says of them, and what is recorded of their threads. */
import { join } from 'node:path';
import type { ResidentView, ThreadRow, ThreadView } from '@caisson/protocol';
import { openedLedger, serve } from '../faults/killed-daemons.ts';
import type { Ledger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, until, type Project } from './project.ts';

export interface ResidentProject {
  readonly project: Project;
  readonly ledger: Ledger;
  readonly daemonPid: number;
}

/** A workflow whose roles are tried in their order, once each. */
export const workflowOf = (roles: Readonly<Record<string, string>>): string => `
import { defineWorkflow } from 'caisson';

const roles = {
${Object.entries(roles)
  .map(
    ([name, body]) =>
      `  async ${name}({ payload, messages, projectRoot, log, dispatch, start, wait, ask, sleep, step }) { ${body} },`,
  )
  .join('\n')}
};

export default defineWorkflow({ roles, route: ({ messages }) => Object.keys(roles)[messages.length] ?? null });
`;

export const senseOf = (body: string): string => `
import { defineSense } from 'caisson';

export default defineSense({ async compute({ state, emit, log, projectRoot }) { ${body} } });
`;

/** The files are part of the project's first commits; the daemon ends with the test. */
export async function serveResidents(
  config: readonly string[],
  files: Readonly<Record<string, string>>,
  env: Record<string, string> = {},
): Promise<ResidentProject> {
  const project = createProject({ config: [...config, ''].join('\n'), env });
  for (const [path, text] of Object.entries(files)) project.write(path, text);
  project.git('add', '-A');
  project.git('commit', '-qm', 'residents');
  const daemonPid = await serve(project);
  return { project, daemonPid, ledger: openedLedger(join(project.root, '.caisson')) };
}

/** What a command prints as JSON. */
export async function readJson<T>(project: Project, ...words: string[]): Promise<T> {
  const { stdout, stderr } = await project.caisson(...words, '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as T;
}

/** Starts a thread and returns its id. */
export async function startThread(project: Project, workflow: string, payload?: unknown): Promise<string> {
  const given = payload === undefined ? [] : ['--payload', JSON.stringify(payload)];
  const { threadId } = await readJson<{ threadId: string }>(
    project,
    'workflows',
    'trigger',
    workflow,
    ...given,
  );
  return threadId;
}

/** Waits until the recorded thread is as wanted. */
export function untilThreadIs(
  { ledger }: Pick<ResidentProject, 'ledger'>,
  threadId: string,
  isSo: (thread: ThreadRow) => boolean,
): Promise<ThreadRow> {
  const look = (): ThreadRow | null => {
    const row = ledger.thread(threadId);
    return row !== null && isSo(row) ? row : null;
  };
  return until(`${threadId} is as wanted`, look, 60_000);
}

/** What `threads show` says of a thread that has ended. */
export async function untilEnded(residents: ResidentProject, threadId: string): Promise<ThreadView> {
  await untilThreadIs(residents, threadId, ({ endedAt }) => endedAt !== undefined);
  return readJson<ThreadView>(residents.project, 'threads', 'show', threadId);
}

/** The worker of a key, as `residents list` shows it, once it is as wanted. */
export function untilResident(
  project: Project,
  key: string,
  isSo: (resident: ResidentView) => boolean = ({ pid }) => pid !== undefined,
): Promise<ResidentView> {
  const look = async (): Promise<ResidentView | undefined> =>
    (await readJson<ResidentView[]>(project, 'residents', 'list')).find(
      (row) => row.key === key && isSo(row),
    );
  return until(`${key} is as wanted`, look, 60_000);
}
