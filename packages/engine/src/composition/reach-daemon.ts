/**
 * Finds the daemon of a project. What we send it has our variables in it, so it shows first that it can read the key of
 * our state folder, which is outside of the repository.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { isSignedWith, statIfThere, systemClock } from '@caisson/ground';
import { BusTopic, definedOnly, HostIntroduction } from '@caisson/protocol';
import { connectSocket, createRemoteCaisson, type Connection } from '../api/index.ts';
import type { SafeEventBus } from '../bus/index.ts';
import type { Caisson, CaissonOptions } from '../caisson-contract.ts';
import { readHostEnvironment, type LiveConfig } from '../config/index.ts';
import { createSessions } from '../session/index.ts';
import { findStateFolder, type OwnState } from '../trust/index.ts';
import type { Engine } from './engine-contract.ts';
import { failWhenStopped } from './stopped-daemon.ts';

/** A project whose configuration was read. */
export interface Opening {
  readonly cwd: string;
  readonly bus: SafeEventBus;
  readonly live: LiveConfig;
}

const PURPOSE = 'daemon';
/** A daemon that was stopped accepts connections and says nothing. */
const HELLO_WITHIN_MS = 2_000;
const REPLACE = 'caisson up -d --replace';

export function daemonSocket(stateDir: string): string {
  return join(stateDir, 'runtime', 'daemon.sock');
}

/** Null: there is none, it is of another version, or it must not be used. */
export async function reachDaemon(opening: Opening, options: CaissonOptions): Promise<Caisson | null> {
  const env = readHostEnvironment();
  const { stateDir } = opening.live.current;
  const socket = daemonSocket(stateDir);
  // What is delivered to a caller's own functions happens in its process.
  const isUnwanted =
    options.daemon === false || env['CAISSON_NO_DAEMON'] === '1' || options.sinks !== undefined;
  if (isUnwanted || !isOwnSocket(socket)) return null;
  const state = findStateFolder(opening.live.current);
  if (state === null) return null;
  const connection = connectSocket(socket, options.client);
  const found = await checkDaemon(connection, state, options.version ?? 'unknown');
  if (typeof found !== 'string') return openRemote(opening, failWhenStopped(connection, found.pid), env);
  connection.close();
  if (found !== 'gone') options.onNotice?.(`${found}; this command goes on without it.`);
  return null;
}

function isOwnSocket(socket: string): boolean {
  const found = statIfThere(socket, 'itself');
  return found?.isSocket() === true && found.uid === process.geteuid?.();
}

/** Who it is; or why it is not used, in words, and `gone` if there is none behind the socket. */
async function checkDaemon(
  connection: Connection,
  state: OwnState,
  version: string,
): Promise<HostIntroduction | string> {
  const nonce = makeNonce();
  const signal = AbortSignal.timeout(HELLO_WITHIN_MS);
  let answer = '';
  try {
    const { body } = await connection.request({ method: 'GET', path: `/v1/hello?nonce=${nonce}`, signal });
    const parts: Buffer[] = [];
    for await (const part of body) parts.push(part);
    answer = Buffer.concat(parts).toString('utf8');
  } catch {
    return signal.aborted ? `the daemon does not answer within ${HELLO_WITHIN_MS / 1000} s` : 'gone';
  }
  const introduced = readIntroduction(answer);
  if (introduced === null)
    return `the daemon has another version, whose answer this one (${version}) does not understand (${REPLACE})`;
  if (!isSignedWith(state.secret, { purpose: PURPOSE, text: nonce }, introduced.proof))
    return 'what listens on the socket of the daemon is not a daemon of this state folder';
  if (introduced.version !== version)
    return `the daemon has version ${introduced.version}, and this is ${version} (${REPLACE})`;
  return introduced;
}

function readIntroduction(answer: string): HostIntroduction | null {
  try {
    return HostIntroduction.parse(JSON.parse(answer));
  } catch {
    return null;
  }
}

/** From the kernel itself: a client need not load `node:crypto`. */
function makeNonce(): string {
  const bytes = Buffer.alloc(16);
  const source = openSync('/dev/urandom', 'r');
  const read = readSync(source, bytes);
  closeSync(source);
  if (read !== bytes.length) throw new Error('/dev/urandom gave too few bytes');
  return bytes.toString('hex');
}

function openRemote({ cwd, bus, live }: Opening, connection: Connection, env: NodeJS.ProcessEnv): Caisson {
  const { stateDir } = live.current;
  const onReset = (session: string): void => bus.emit(BusTopic.SESSION_RESET, { session });
  const sessions = createSessions({ stateDir, clock: systemClock, onReset });
  return createRemoteCaisson({ connection, caller: { cwd, env: definedOnly(env) }, live, sessions, bus });
}

export function introduceHost({ stamp, hostId }: Engine, nonce: string, version: string): HostIntroduction {
  return { version, pid: process.pid, hostId, proof: stamp.sign(PURPOSE, nonce) };
}
