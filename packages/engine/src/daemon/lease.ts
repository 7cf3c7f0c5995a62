/** Which process serves the project (DM1). */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { isSameProcess, readProcess, systemClock, type Clock } from '@caisson/ground';
import { DaemonIdentity } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { Ledger } from '../ledger/index.ts';

const SPACE = 'daemon';
const KEY = 'lease';

export interface LeaseRooms {
  readonly ledger: Pick<Ledger, 'alone' | 'kv' | 'whenFree'>;
  isHostAlive(hostId: string): Promise<boolean>;
}

/** Resolves with the process that has it: ourselves, or another one that lives. */
export async function takeLease(rooms: LeaseRooms, own: DaemonIdentity): Promise<DaemonIdentity> {
  for (;;) {
    const { row, identity } = readRow(rooms);
    if (identity !== null && (await isDaemonAlive(rooms, identity))) return identity;
    if (await rooms.ledger.whenFree(() => replaceRow(rooms, row, own))) return own;
  }
}

export function hasLease({ ledger }: Pick<LeaseRooms, 'ledger'>, own: DaemonIdentity): boolean {
  return isDeepStrictEqual(ledger.kv.get(SPACE, KEY), own);
}

/** Releases it; nothing happens when another process has it. */
export function releaseLease({ ledger }: LeaseRooms, own: DaemonIdentity): void {
  ledger.alone(() => {
    if (hasLease({ ledger }, own)) ledger.kv.delete(SPACE, KEY);
  });
}

/** The living process that serves the project. */
export async function findLeaseHolder(rooms: LeaseRooms): Promise<DaemonIdentity | null> {
  const { identity } = readRow(rooms);
  return identity !== null && (await isDaemonAlive(rooms, identity)) ? identity : null;
}

/** The same of the row as it is in the ledger, by its process alone. */
export function findLivingDaemon(row: unknown): DaemonIdentity | null {
  const { data } = z.safeParse(DaemonIdentity, row);
  return data !== undefined && isProcessOf(data) ? data : null;
}

/** Where it is in the ledger. */
export const LEASE_ROW = { space: SPACE, key: KEY } as const;

/** This process, as a daemon of this host id and version. */
export function identifyDaemon(
  { hostId, version }: Pick<DaemonIdentity, 'hostId' | 'version'>,
  clock: Pick<Clock, 'now'> = systemClock,
): DaemonIdentity {
  return {
    pid: process.pid,
    startTime: readProcess(process.pid)?.startTime ?? '',
    bootId: readBootId(),
    hostId,
    version,
    startedAt: clock.now().toISOString(),
  };
}

/** Its process lives; or its host's socket is open, which also counts where its pid is of another namespace. */
async function isDaemonAlive({ isHostAlive }: LeaseRooms, identity: DaemonIdentity): Promise<boolean> {
  return isProcessOf(identity) || (await isHostAlive(identity.hostId));
}

/** Its pid is its own here, too: it is not of another namespace, and no other process has it now. */
export function isProcessOf({ pid, startTime, bootId }: DaemonIdentity): boolean {
  return bootId === readBootId() && isSameProcess(pid, startTime);
}

/** A row that cannot be read belongs to nobody. */
function readRow({ ledger }: LeaseRooms): { row: unknown; identity: DaemonIdentity | null } {
  const row = ledger.kv.get(SPACE, KEY);
  return { row, identity: z.safeParse(DaemonIdentity, row).data ?? null };
}

/** False when another process was faster: it has to be looked at. */
function replaceRow({ ledger }: LeaseRooms, judged: unknown, own: DaemonIdentity): boolean {
  return ledger.alone(() => {
    if (!isDeepStrictEqual(ledger.kv.get(SPACE, KEY), judged)) return false;
    ledger.kv.set(SPACE, KEY, own);
    return true;
  });
}

function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
