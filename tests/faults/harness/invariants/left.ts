/** Nothing is left: no process, mount, group, folder, lease, lock or temporary file. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../../e2e/open-project.ts';
import { listFolder } from '../../moments.ts';
import { slowness } from '../../processes.ts';
import type { Stage } from '../contract.ts';
import { findLeftProcesses } from '../left-processes.ts';
import type { Invariant } from './contract.ts';

export const noProcessLeft: Invariant = {
  name: 'no-process',
  async check({ stage }) {
    // A spare worker of a host that was killed ends by itself.
    await until('none is left', () => findLeftProcesses(stage).length === 0, 1000 * slowness()).catch(
      () => undefined,
    );
    return findLeftProcesses(stage).map(({ pid, command }) => `pid ${pid}: ${command}`);
  },
};

export const noMountLeft: Invariant = {
  name: 'no-mount',
  check: ({ stage }) =>
    readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((path) => path.startsWith(`${stage.base}/`) && !isOwnMount(path, stage)),
};

function isOwnMount(path: string, { base, disk }: Stage): boolean {
  return path === disk?.path || path === join(base, 'state');
}

export const noGroupLeft: Invariant = {
  name: 'no-group',
  check({ stage }) {
    const runs = stage
      .ledger()
      .runs()
      .map(({ runId }) => runId);
    return readdirSync('/sys/fs/cgroup')
      .map((name) => join('/sys/fs/cgroup', name, 'caisson'))
      .flatMap((folder) => listFolder(folder).map((name) => join(folder, name)))
      .filter((path) => runs.some((runId) => path.includes(runId)));
  },
};

export const noLeaseLeft: Invariant = {
  name: 'no-lease',
  check({ stage }) {
    const { leases } = stage.ledger();
    return [
      ...leases.listSlots().map((slot) => `slot of ${slot.runId}`),
      ...leases.listHolds().map((hold) => `hold ${hold.name}`),
      ...leases.hosts().map((host) => `host ${host}`),
    ];
  },
};

/** Where an attempt works; what a run keeps for later (results, spools, events) has its own limits. */
const EMPTY_AFTERWARDS = [
  ...['runtime/jobs', 'runtime/net', 'runtime/captures', 'runtime/mailboxes', 'runtime/homes'],
  ...['runtime/overlays', 'worktrees'],
];

/** Where a disk has lost what is needed to save a workspace, it stays for the user, and a warning says so. */
export const noFolderLeft: Invariant = {
  name: 'no-folder',
  check({ stage, losesUnsynced }) {
    const warnings = losesUnsynced ? stage.ledger().read({ types: ['warning'] }) : [];
    const reported = warnings.map((event) => String(event.data['message'])).join('\n');
    return EMPTY_AFTERWARDS.flatMap((folder) =>
      listFolder(join(stage.stateDir, folder))
        .filter((name) => !reported.includes(`${join(stage.stateDir, folder, name)} was left in place`))
        .map((name) => `${folder}/${name}`),
    );
  },
};

export const noTemporaryLeft: Invariant = {
  name: 'no-temporary',
  check: ({ stage }) => listFolder(join(stage.base, 'tmp')).map((name) => `$TMPDIR/${name}`),
};

export const noLockLeft: Invariant = {
  name: 'no-lock',
  check: ({ stage }) => [...listLocks(stage.custody), ...listLocks(join(stage.project.root, '.git'))],
};

function listLocks(folder: string): string[] {
  return readAll(folder).filter((name) => name.endsWith('.lock'));
}

function readAll(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch {
    return []; // there is no repository
  }
}
