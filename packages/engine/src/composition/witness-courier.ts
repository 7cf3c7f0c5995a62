/**
 * Sends the line of every seal to the witness. A file gets it at once. An address gets it in the background, together
 * with every line that it has not accepted yet; the ledger remembers what it accepted, so an unreachable witness misses
 * nothing and delays nothing.
 */
import { hash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder, unlessErrno } from '@caisson/ground';
import { post } from '../callbacks/index.ts';
import {
  encodeWitnessLine,
  listNewestSeals,
  readEnd,
  walkBack,
  type RecordedSeal,
} from '../evidence/index.ts';
import type { Ledger } from '../ledger/index.ts';

const POST_MS = 5000;
const MAX_LINES = 1000;
/** Of the file, at first. */
const END_BYTES = 64 * 1024;
/** A seal and the one before it have 64 digits each. */
const MIN_LINE_BYTES = 128;
const LINE_END = 10;
const NO_FILE = { end: Buffer.alloc(0), isWhole: true };

export interface WitnessCourier {
  /** Informs the witness; never throws and never waits for a network. */
  send(newest: RecordedSeal): void;
  /** Waits until no request is under way, up to a limit. */
  settle(waitMs: number): Promise<void>;
}

/** Null without a witness. */
export function createWitnessCourier(
  witness: string | null,
  ledger: Ledger,
  warn: (message: string) => void,
): WitnessCourier | null {
  if (witness === null) return null;
  if (!isAddress(witness)) return createFileCourier(witness, ledger, warn);
  return createPostCourier(witness, ledger, warn);
}

export function isAddress(witness: string): boolean {
  return /^https?:\/\//.test(witness);
}

/** How many seals an address has not accepted yet. */
export function countUnsent(witness: string, ledger: Ledger): number {
  const isAccepted = findAccepted(witness, ledger);
  let count = 0;
  for (const recorded of walkBack(ledger)) {
    if (isAccepted(recorded)) break;
    count += 1;
  }
  return count;
}

function createFileCourier(file: string, ledger: Ledger, warn: (message: string) => void): WitnessCourier {
  return {
    send(newest) {
      try {
        appendMissing(file, ledger, newest);
      } catch (error) {
        warn(
          `the seal of ${newest.runId} was not written to the witness ${file}: ${(error as Error).message}`,
        );
      }
    },
    settle: () => Promise.resolve(),
  };
}

/** The lines that the file lacks, in one write at its end. Usually only the one of the newest seal. */
function appendMissing(file: string, ledger: Ledger, newest: RecordedSeal): void {
  makeFolder(dirname(file));
  const { missing, gap } = findMissing(file, ledger, newest);
  appendFileSync(file, gap + missing.map((seal) => encodeWitnessLine(seal) ?? '').join(''), { mode: 0o600 });
}

/**
 * Compared with the end of the file, which has the seal before the newest one. Only where it is not there, because lines
 * are missing or others have the same witness, more of the file is read.
 */
function findMissing(
  file: string,
  ledger: Ledger,
  newest: RecordedSeal,
): { readonly missing: readonly RecordedSeal[]; readonly gap: string } {
  for (let bytes = END_BYTES; ; bytes *= 8) {
    const { end, isWhole } = unlessErrno(() => readEnd(file, bytes), NO_FILE, 'ENOENT');
    // Each line takes more: behind so many seals none of those before can be in this part.
    const most = isWhole ? Infinity : bytes / MIN_LINE_BYTES;
    let [looked, isFound] = [0, false];
    const missing = listNewestSeals(ledger, newest, ({ seal }) => {
      isFound = end.includes(`"seal":"${seal.envelopeRef}"`);
      looked += 1;
      return isFound || looked > most;
    });
    // A line that a power cut left incomplete must not corrupt the next one.
    const gap = end.length === 0 || end.at(-1) === LINE_END ? '' : '\n';
    if (isFound || isWhole) return { missing, gap };
  }
}

function createPostCourier(url: string, ledger: Ledger, warn: (message: string) => void): WitnessCourier {
  const stopping = new AbortController();
  let underWay: Promise<void> | null = null;
  let isAsked = false;
  const work = async (): Promise<void> => {
    while (isAsked && !stopping.signal.aborted) {
      isAsked = false;
      const problem = await sendUnsent(url, ledger, stopping.signal);
      if (problem !== null) warn(`the witness ${url} ${problem}; the next seal sends it again`);
    }
  };
  return {
    send() {
      isAsked = true;
      underWay ??= work()
        .catch((error: unknown) =>
          warn(`the witness ${url} did not get the seal: ${(error as Error).message}`),
        )
        .finally(() => {
          underWay = null;
        });
    },
    async settle(waitMs) {
      if (underWay === null) return;
      const timer = setTimeout(() => stopping.abort(), waitMs);
      await underWay;
      clearTimeout(timer);
    },
  };
}

/** Null when everything was accepted. */
async function sendUnsent(url: string, ledger: Ledger, signal: AbortSignal): Promise<string | null> {
  for (;;) {
    const unsent = listUnsent(url, ledger).slice(0, MAX_LINES);
    const last = unsent.at(-1);
    if (last === undefined) return null;
    const outcome = await post({
      url,
      headers: { 'content-type': 'application/x-ndjson' },
      body: unsent.map((seal) => encodeWitnessLine(seal) ?? '').join(''),
      timeoutMs: POST_MS,
      signal,
    });
    if (outcome.kind === 'cut') return 'did not answer before this process ended';
    if (outcome.kind === 'refused') return outcome.detail;
    const count = last.seal.chain?.number ?? 0;
    await ledger.whenFree(() => ledger.kv.set('witness', cursorOf(url), count), signal);
  }
}

function listUnsent(url: string, ledger: Ledger): RecordedSeal[] {
  return listNewestSeals(ledger, null, findAccepted(url, ledger));
}

/** By the number of the last seal that the address has accepted: then it has those before it, too. */
function findAccepted(url: string, ledger: Ledger): (recorded: RecordedSeal) => boolean {
  const sent = ledger.kv.get('witness', cursorOf(url));
  const last = typeof sent === 'number' ? sent : 0;
  return ({ seal }) => (seal.chain?.number ?? 0) <= last;
}

function cursorOf(url: string): string {
  return hash('sha256', url);
}
