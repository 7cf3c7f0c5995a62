/** Where one attempt's files are in the state folder. Every name is made here. */
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isErrno, removeTree, shareTurn } from '@caisson/ground';

export interface AttemptPaths {
  readonly job: string;
  readonly result: string;
  readonly events: string;
  readonly spool: string;
  readonly captures: string;
  readonly mailbox: string;
  readonly session: string;
  readonly home: string;
  readonly login: string;
  readonly netSocket: string;
  /** Where the next host reaches the worker. */
  readonly control: string;
  readonly overlay: string;
  readonly layers: string;
}

export function attemptPaths(stateDir: string, runId: string, attempt: number): AttemptPaths {
  const runtime = join(stateDir, 'runtime');
  const name = `${runId}.${attempt}`;
  return {
    job: join(runtime, 'jobs', `${name}.json`),
    result: join(runtime, 'results', `${name}.result.json`),
    events: join(runtime, 'events', `${name}.ndjson`),
    spool: join(runtime, 'spool', name),
    captures: join(runtime, 'captures', name),
    mailbox: join(runtime, 'mailboxes', name),
    session: join(runtime, 'sessions', runId),
    home: join(runtime, 'homes', name),
    login: join(runtime, 'logins', name),
    netSocket: join(runtime, 'net', `${name}.sock`),
    control: join(runtime, 'net', `${name}.control.sock`),
    overlay: join(runtime, 'overlays', name),
    layers: join(runtime, 'layers', name),
  };
}

/** Makes the folders an attempt writes to. */
export async function createAttemptFolders(paths: AttemptPaths): Promise<void> {
  const folders = [
    ...[paths.job, paths.result, paths.events, paths.netSocket].map((path) => dirname(path)),
    ...[paths.spool, paths.captures, paths.mailbox],
  ];
  await shareTurn();
  await Promise.all(folders.map((folder) => mkdir(folder, { recursive: true, mode: 0o700 })));
}

/** Removes what an attempt wrote beside its workspace, except its lines and output: see `removeStored`. */
export async function removeAttemptFolders(paths: AttemptPaths): Promise<void> {
  const trees = [
    ...[paths.captures, paths.mailbox, paths.home, paths.login, paths.job],
    ...[paths.netSocket, paths.control, paths.overlay, paths.events, paths.layers],
  ];
  await shareTurn();
  const removed = await Promise.allSettled([...trees.map(removeTree), removeIfEmpty(paths.spool)]);
  for (const each of removed) if (each.status === 'rejected') throw each.reason;
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!isErrno(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  });
}
