/**
 * A worker that may outlive its host listens on a socket of its own. The next host sends a claim (protocol's
 * `adoption.ts`), and then has the worker's lines from the first on and its ear.
 *
 *   driven ──host gone──► alone ──a claim──► driven
 *                           └──`withinMs` without one──► the sandbox is killed, and the worker exits
 *
 * AD1  Only who knows the attempt's nonce is answered, and each adopter has a higher epoch than the one before.
 * AD2  There is one host at a time: the connection of the one before is closed before the next gets a line.
 * AD3  While it is alone the agent goes on; requests to the host wait, and lines are in the events file.
 */
import { timingSafeEqual } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { listenPrivately, pathOfDescriptor, removeFileSync } from '@caisson/ground';
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

export interface AdoptionRooms {
  readonly job: Pick<Job, 'nonce' | 'secrets'>;
  readonly control: Pick<Control, 'waitForNext' | 'followNext' | 'giveUp'>;
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
  { socket, withinMs }: NonNullable<Job['adoption']>,
  rooms: AdoptionRooms,
  { claimMs = CLAIM_MS } = {},
): Promise<Adoption> {
  let epoch = FIRST_EPOCH;
  let nobodyCame: NodeJS.Timeout | undefined;
  const accept = (claim: AdoptionClaim, connection: Socket): void => {
    epoch = claim.epoch;
    clearTimeout(nobodyCame);
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
      const why = findRefusal(claim, { nonce: rooms.job.nonce, epoch });
      if (claim === undefined || why !== null) return answer(connection, { ok: false, why: why ?? '' });
      connection.setTimeout(0);
      accept(claim, connection);
    }),
  );
  const stop = await listenAt(server, socket);
  rooms.control.waitForNext(() => {
    nobodyCame = setTimeout(() => rooms.control.giveUp(), withinMs); // AD3
  });
  return {
    close() {
      clearTimeout(nobodyCame);
      stop();
    },
  };
}

/** AD1 */
function findRefusal(
  claim: AdoptionClaim | undefined,
  own: { readonly nonce: string; readonly epoch: number },
): string | null {
  if (claim === undefined) return 'this is no claim';
  const [theirs, ours] = [Buffer.from(claim.nonce), Buffer.from(own.nonce)];
  if (theirs.length !== ours.length || !timingSafeEqual(theirs, ours)) return 'the nonce is another one';
  if (claim.version !== ADOPTION_VERSION)
    return `this worker speaks version ${ADOPTION_VERSION} of adoption, not ${claim.version}`;
  return claim.epoch > own.epoch ? null : `epoch ${own.epoch} has this run already`;
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
