/**
 * A worker that may outlive its host listens on a socket of its own. The next host sends a claim (protocol's
 * `adoption.ts`), and then has the worker's lines from the first on and its ear.
 *
 *   driven ──host gone──► alone ──a claim──► driven
 *                           ├──the time limit of the attempt──► stopped as by a host, with a result
 *                           └──`withinMs` without a claim──► the sandbox is killed, and the worker exits; it refuses a claim
 *
 * AD1  Only who knows the attempt's nonce adopts it, after `go`, and each host has a higher epoch than the one before; the
 *      same host may ask again once its connection is gone.
 * AD2  There is one host at a time: the connection of the one before is closed before the next gets a line.
 * AD3  While it is alone the agent goes on; requests to the host wait, and lines are in the events file. A folder of the user
 *      that it works in stays claimed.
 */
import { timingSafeEqual } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { claimFolder, listenPrivately, pathOfDescriptor, removeFileSync, systemClock } from '@caisson/ground';
import {
  ADOPTION_VERSION,
  AdoptionClaim,
  createNdjsonDecoder,
  encodeNdjson,
  FIRST_EPOCH,
  type AdoptionAnswer,
  type Handover,
  type Job,
} from '@caisson/protocol';
import type { Control } from './control.ts';
import type { HostWatch } from './host-watch.ts';
import type { LineWriter } from './line-writer.ts';

const MAX_CLAIM_BYTES = 4096;
const CLAIM_MS = 10_000;
const CLAIM_TRIES = 40;
const CLAIM_PAUSE_MS = 50;

export interface AdoptionRooms {
  readonly job: Pick<Job, 'nonce' | 'secrets' | 'runId' | 'wallMs' | 'graceMs'>;
  readonly control: Pick<Control, 'waitForNext' | 'standing' | 'followNext' | 'giveUp' | 'stopAs'>;
  readonly writer: Pick<LineWriter, 'count' | 'turnTo'>;
  readonly watch: Pick<HostWatch, 'turnTo'>;
  /** Requests to the host without an answer. */
  openRequests(): Handover['requests'];
  elapsedMs(): number;
}

export interface Adoption {
  close(): void;
}

/** Resolves when the next host could reach this worker. */
export async function openAdoption(
  { socket, withinMs, folder }: NonNullable<Job['adoption']>,
  rooms: AdoptionRooms,
  { claimMs = CLAIM_MS } = {},
): Promise<Adoption> {
  let epoch = FIRST_EPOCH;
  let endWait = (): void => undefined;
  let hasGivenUp = false;
  const accept = (claim: AdoptionClaim, connection: Socket): void => {
    epoch = claim.epoch;
    endWait();
    const { secrets } = rooms.job;
    const handover: Handover = {
      secrets: secrets.map(({ name, value }) => ({ name, value })),
      lines: rooms.writer.count,
      requests: rooms.openRequests(),
      elapsedMs: rooms.elapsedMs(),
    };
    answer(connection, { ok: true, handover });
    rooms.watch.turnTo(claim.hostPid);
    rooms.control.followNext(connection);
    rooms.writer.turnTo(connection); // AD2
  };
  const server = createServer((connection) =>
    readClaim(connection, claimMs, (value) => {
      const claim = AdoptionClaim.safeParse(value).data;
      const standing = rooms.control.standing();
      const why = findRefusal(claim, { nonce: rooms.job.nonce, epoch, standing, hasGivenUp });
      if (claim === undefined || why !== null) return answer(connection, { ok: false, why: why ?? '' });
      connection.setTimeout(0);
      accept(claim, connection);
    }),
  );
  const stop = await listenAt(server, socket);
  rooms.control.waitForNext(() => {
    const giveUp = (): void => {
      hasGivenUp = true;
      rooms.control.giveUp();
    };
    endWait = limitTime(rooms, withinMs, giveUp);
    if (folder !== undefined) void claimForRun(folder, rooms.job.runId);
  });
  return {
    close() {
      endWait();
      stop();
    },
  };
}

/** AD3. Returns a function that ends the wait. */
function limitTime(
  { control, job, elapsedMs }: AdoptionRooms,
  withinMs: number,
  giveUp: () => void,
): () => void {
  const { wallMs, graceMs } = job;
  const detail = `no end after ${wallMs} ms`;
  const cancels = [
    systemClock.setTimer(withinMs, giveUp),
    systemClock.setTimer(Math.max(1, wallMs - elapsedMs()), () =>
      control.stopAs({ reason: 'timeout', graceMs, detail }),
    ),
  ];
  return () => cancels.forEach((cancel) => cancel());
}

/** The host had it, and its claim ends a moment after its streams. The worker keeps it to its end. */
async function claimForRun(
  { path, userState }: NonNullable<NonNullable<Job['adoption']>['folder']>,
  runId: string,
): Promise<void> {
  for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
    const claim = await claimFolder(path, runId, userState).catch(() => null); // the agent goes on all the same
    if (claim?.kind !== 'taken') return;
    await new Promise((resolve) => systemClock.setTimer(CLAIM_PAUSE_MS, () => resolve(undefined)));
  }
}

/** AD1 */
function findRefusal(
  claim: AdoptionClaim | undefined,
  own: {
    readonly nonce: string;
    readonly epoch: number;
    readonly standing: ReturnType<Control['standing']>;
    readonly hasGivenUp: boolean;
  },
): string | null {
  if (claim === undefined) return 'this is no claim';
  const [theirs, ours] = [Buffer.from(claim.nonce), Buffer.from(own.nonce)];
  if (theirs.length !== ours.length || !timingSafeEqual(theirs, ours)) return 'the nonce is another one';
  if (claim.version !== ADOPTION_VERSION)
    return `this worker speaks version ${ADOPTION_VERSION} of adoption, not ${claim.version}`;
  if (own.standing === 'waiting') return 'nothing has begun yet, and this worker ends with its host';
  if (own.hasGivenUp) return 'no host came in time, and this worker ends';
  // The host that owns the run in the ledger may ask again when its answer was lost.
  const isNext = claim.epoch > own.epoch || (claim.epoch === own.epoch && own.standing === 'alone');
  return isNext ? null : `epoch ${own.epoch} has this run already`;
}

function answer(connection: Socket, value: AdoptionAnswer): void {
  if (value.ok) connection.write(encodeNdjson(value));
  else connection.end(encodeNdjson(value));
}

/** Calls back with the first line; a connection that sends none in time, or too much, is closed. */
function readClaim(connection: Socket, claimMs: number, onLine: (value: unknown) => void): void {
  let bytes = 0;
  const decoder = createNdjsonDecoder({ maxLineBytes: MAX_CLAIM_BYTES });
  connection.on('error', () => connection.destroy());
  connection.setTimeout(claimMs, () => connection.destroy());
  const read = (chunk: Buffer): void => {
    const [first] = decoder.push(chunk);
    bytes += chunk.length;
    if (first === undefined) return void (bytes > MAX_CLAIM_BYTES && connection.destroy());
    connection.off('data', read);
    onLine(first.kind === 'value' ? first.value : null);
  };
  connection.on('data', read);
}

/** The descriptor stays open as long as the server, which removes its socket by that path. */
async function listenAt(server: Server, path: string): Promise<() => void> {
  const folder = openSync(dirname(path), 'r');
  removeFileSync(path);
  await listenPrivately(server, join(pathOfDescriptor(folder), basename(path)));
  server.unref();
  return () => {
    server.close();
    removeFileSync(path);
    closeSync(folder);
  };
}
