/** One case's project, its disks and its processes; everything goes with `close`. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger, type Ledger } from '../../../packages/engine/src/ledger/index.ts';
import { resolveUserFolders } from '../../../packages/engine/src/config/index.ts';
import { openStateFolder } from '../../../packages/engine/src/trust/index.ts';
import { BIN, finish, openProject, until, type Project } from '../../e2e/open-project.ts';
import { agentProgram } from './agents.ts';
import type { Command, Disk, Running, Setting, Stage } from './contract.ts';
import { mountExt4, mountFuse, mountTmpfs } from './disks.ts';
import { findLeftProcesses, type LeftProcess } from './left-processes.ts';
import { readByCli } from './reader.ts';
import { watchReported } from './reported.ts';

const STATE_SIZE = '64m';
/** A file of the user's that is in no commit. */
export const UNCOMMITTED = 'uncommitted.txt';

export async function openStage(setting: Setting, config = ''): Promise<Stage> {
  const ends: (() => void)[] = [];
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-fault-')));
  ends.push(() => rmSync(base, { recursive: true, force: true }));
  const disk = mountDisk(setting, base);
  const project = openProject(
    {
      git: setting.workspace === 'worktree',
      config: `limits: { grace: 500ms, concurrency: 12 }\n${config}`,
      under: disk?.path ?? base,
      env: { TMPDIR: makeFolder(base, 'tmp') },
    },
    (end) => ends.push(end),
  );
  if (disk !== null) ends.push(() => disk.remove()); // before the project, which may be unreadable on it
  const state = setting.state === 'tmpfs' ? mountTmpfs(join(base, 'state'), STATE_SIZE) : null;
  if (state !== null) ends.push(() => state.remove());
  const stateDir = state === null ? join(project.root, '.caisson') : join(state.path, 'state');
  if (setting.isDirty) project.write(UNCOMMITTED, 'not committed\n');
  openStateFolder({ stateDir, projectRoot: project.root, folders: resolveUserFolders(project.env) });
  await project.trust();
  disk?.sync?.(); // what the user had before is on the disk
  return assembleStage({ setting, base, disk: disk ?? state, project, stateDir, ends });
}

function assembleStage(parts: {
  setting: Setting;
  base: string;
  disk: Disk | null;
  project: Project;
  stateDir: string;
  ends: (() => void)[];
}): Stage {
  const { setting, base, disk, project, stateDir, ends } = parts;
  let ledger: Ledger | null = null;
  const closeLedger = async (): Promise<void> => {
    const open = ledger;
    ledger = null;
    await open?.close();
  };
  const stage: Stage = {
    project,
    base,
    setting,
    stateDir,
    disk,
    custody: setting.workspace === 'worktree' ? join(project.root, '.git') : join(stateDir, 'git'),
    marks: new Set([base]),
    seen: { hasWork: false, head: null },
    ledger: () => (ledger ??= openLedger(join(stateDir, 'ledger.db'))),
    closeLedger,
    start(command) {
      const running = startCommand(project, command);
      stage.marks.add(`CAISSON_PARENT_PID=${running.pid}\0`); // a worker that waits knows nothing but this
      void running.ended.finally(watchReported(stage));
      return running;
    },
    caisson: (name, ...args) => stage.start(caissonCommand(stage, name, ...args)).ended,
    read: (name, ...args) =>
      readByCli({ args: [name, '--state-dir', stateDir, ...args], cwd: project.root, env: project.env }),
    async endProcesses() {
      const left = (): LeftProcess[] => findLeftProcesses(stage);
      await until('the processes of the case are gone', () => left().every(({ pid }) => !killQuietly(pid)));
    },
    async close() {
      await closeLedger().catch(() => undefined); // its disk may be gone
      await stage.endProcesses();
      for (const end of ends.toReversed()) end();
    },
  };
  return stage;
}

function mountDisk({ disk }: Setting, base: string): Disk | null {
  if (disk === 'ext4') return mountExt4(base);
  return disk === 'fuse' ? mountFuse(base) : null;
}

function makeFolder(base: string, name: string): string {
  const path = join(base, name);
  mkdirSync(path);
  return path;
}

/** The built CLI with this stage's state folder. */
export function caissonCommand(stage: Stage, name: string, ...args: readonly string[]): Command {
  return { argv: [process.execPath, BIN, name, '--state-dir', stage.stateDir, ...args], env: {} };
}

/** `caisson run` with the setting's agent. */
export function runCommand(stage: Stage): Command {
  const { workspace, retries, hasNetwork } = stage.setting;
  return caissonCommand(
    stage,
    'run',
    ...['-o', 'json', '--workspace', workspace, '--retries', String(retries)],
    ...(hasNetwork ? ['--network', 'hosts=127.0.0.1:9'] : []),
    ...['--', 'sh', '-c', agentProgram(stage.setting)],
  );
}

function startCommand({ root, env }: Project, command: Command): Running {
  const [file, ...args] = command.argv;
  const child = spawn(file, args, {
    cwd: root,
    env: { ...env, ...command.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return {
    pid: child.pid ?? 0,
    ended: finish(child),
    isOver: () => child.exitCode !== null || child.signalCode !== null,
  };
}

export function killQuietly(pid: number, signal: NodeJS.Signals = 'SIGKILL'): boolean {
  try {
    return pid > 0 && process.kill(pid, signal);
  } catch {
    return false; // it was faster
  }
}
