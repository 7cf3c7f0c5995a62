/** `up -d`: starts a daemon in the background and waits until it answers. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { explainError, isSameProcess, readProcess, removeFileSync, startDetached } from '@caisson/ground';
import { definedOnly, type DaemonIdentity, type DaemonStatus } from '@caisson/protocol';
import { openState } from '../composition/state-folder.ts';
import { loadConfig, loadConfigToRead, requireTrust } from '../composition/trusted-config.ts';
import { readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import {
  askStatus,
  DaemonRunsError,
  DaemonStartError,
  describeDaemon,
  formatUnit,
  OtherDaemonError,
  OtherProjectError,
} from '../daemon/index.ts';
import { daemonLogPath, startLogPath } from './daemon-log.ts';
import { describeSilent, findDaemonOf, type DaemonPlace } from './find-daemon.ts';

const POLL_MS = 25;
/** Settling what a dead host left may take long; by then a person wonders. */
const SLOW_MS = 5000;
const MAX_REASON_CHARACTERS = 4000;
/** The first line of its log. */
const STARTING = 'Starting.\n';

export interface StartOptions extends DaemonPlace {
  /** The CLI to start it with. */
  readonly entry: string;
  /** Called once if it does not answer soon; until it does, it writes to this log. */
  onSlow?(log: string): void;
}

/** Throws DaemonRunsError when there is one, DaemonStartError with its last words when it ended at once. */
export async function startDaemon({ entry, stateDir: given, onSlow }: StartOptions): Promise<DaemonStatus> {
  const config = await loadConfig({ flags: { state: given } });
  await requireTrust(config);
  const standing = await findDaemonOf(config);
  if (standing.kind === 'silent') throw describeSilent(standing);
  if (standing.kind === 'foreign') throw new OtherDaemonError(standing.identity);
  if (standing.kind === 'answers') throw refuseSecond(standing.status, config);
  const { stateDir, projectRoot } = config;
  await openState(config, { isMade: true }).ledger.close(); // a folder that is not ours is refused before a log is made there
  const started = await startWithLog(stateDir, (logFd) =>
    startDetached({
      file: process.execPath,
      args: [entry, 'up', ...(given === undefined ? [] : ['--state-dir', stateDir])],
      cwd: projectRoot,
      env: definedOnly(readHostEnvironment()),
      logFd,
    }),
  );
  const status = await untilItAnswers(stateDir, started, onSlow);
  return { ...status, log: daemonLogPath(stateDir) };
}

type Known = DaemonIdentity & Partial<Pick<DaemonStatus, 'phase' | 'projectRoot'>>;

/** Why none can be started beside this one. */
function refuseSecond(
  daemon: Known,
  { projectRoot }: Pick<ResolvedConfig, 'projectRoot'>,
): DaemonRunsError | OtherProjectError {
  const { phase = 'serving', projectRoot: served = projectRoot } = daemon;
  if (served !== projectRoot) return new OtherProjectError(projectRoot, served, existsSync(served));
  const isServing = phase === 'serving';
  const what = isServing ? 'serves this project already' : 'of this project is going down';
  return new DaemonRunsError(`a daemon ${what} (${describeDaemon(daemon)})`, {
    remedy: isServing
      ? 'Use that one: caisson reload lets it read caisson.yaml again, caisson status shows it, caisson down ends it.'
      : 'Wait until it is gone; caisson status shows what it waits for, and caisson down --now ends it.',
  });
}

/** The same of one that is known by its lease: it may say more itself. */
export async function refuseBeside(holder: DaemonIdentity, config: ResolvedConfig): Promise<Error> {
  const status = await askStatus(config.stateDir).catch(() => null);
  return refuseSecond(status ?? holder, config);
}

interface Started {
  readonly pid: number;
  readonly startTime: string;
  readonly path: string;
}

async function startWithLog(stateDir: string, start: (logFd: number) => Promise<number>): Promise<Started> {
  const path = startLogPath(stateDir, process.pid);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  removeFileSync(path);
  const logFd = openSync(path, 'ax', 0o600);
  try {
    reserveLog(logFd, path);
    const pid = await start(logFd);
    return { pid, startTime: readProcess(pid)?.startTime ?? '', path };
  } finally {
    closeSync(logFd);
  }
}

/** On a full disk it would end without a word. */
function reserveLog(logFd: number, path: string): void {
  try {
    writeSync(logFd, STARTING);
  } catch (error) {
    removeFileSync(path);
    throw new DaemonStartError(`the log of the daemon cannot be written: ${explainError(error)}`, {
      cause: error,
    });
  }
}

async function untilItAnswers(
  stateDir: string,
  { pid, startTime, path }: Started,
  onSlow: StartOptions['onSlow'],
): Promise<DaemonStatus> {
  const slowAtMs = performance.now() + SLOW_MS;
  let isSaid = false;
  for (;;) {
    if (!isSaid && performance.now() >= slowAtMs) {
      isSaid = true;
      onSlow?.(path);
    }
    const isAlive = isSameProcess(pid, startTime); // read first: its last words come before its end
    const status = await askStatus(stateDir).catch(() => null);
    if (status?.pid === pid) return status;
    if (!isAlive) throw diedAtOnce(stateDir, path);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Its own error, in its own words. One that served for a moment has named its log. */
function diedAtOnce(stateDir: string, path: string): DaemonStartError {
  const last = [path, daemonLogPath(stateDir)].find((log) => existsSync(log));
  const log = last === undefined ? '' : readFileSync(last, 'utf8').slice(STARTING.length);
  const text = log.slice(-MAX_REASON_CHARACTERS).trim();
  removeFileSync(path);
  const said = text.split('\n').findLast((line) => /^(?:internal )?error: /.test(line)) ?? text;
  const reason = said.replace(/^error: /, '');
  return new DaemonStartError(reason === '' ? 'the daemon ended at once and said nothing' : reason);
}

/** A systemd user unit that serves this project with this program. */
export async function describeUnit({ entry, stateDir: given, onUnread }: StartOptions): Promise<string> {
  const { projectRoot, stateDir } = await loadConfigToRead({ flags: { state: given } }, onUnread);
  return formatUnit({
    node: process.execPath,
    entry,
    projectRoot,
    stateDir: given === undefined ? null : stateDir,
  });
}
