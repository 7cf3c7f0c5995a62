import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

import { isTerminal } from '@caisson/protocol';

import { toChainEvent, type Ledger, type StoredEvent } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import { checkEvidence, failVerification } from './check-evidence.ts';
import { checkInputs } from './check-inputs.ts';
import { CheckReport, decideOutcome } from './check-report.ts';
import type { PublicKey, Verification } from './contract.ts';
import { EvidenceMalformedError, IncompleteError, TamperedError } from './errors.ts';
import type { FoundBlob } from './evidence-source.ts';
import { ExportSource } from './export-source.ts';
import { parseEnvelope } from './dsse.ts';
import { findSeal } from './find-seal.ts';
import { checkLink, refuseLostSeal } from './seal-chain.ts';
import { parseStatement } from './statement.ts';
import { listTar, type ByteSource, type TarEntry } from './tar.ts';
import { describeWitnessed, type WitnessLine } from './witness.ts';

export interface VerifyOptions {
  /** Keys to trust: those of the keyring, or the one given with `--key`. */
  readonly trustedKeys: readonly PublicKey[];
  /** What a witness noted; the seal must be among it. */
  readonly witness?: readonly WitnessLine[];
  /** Why the run could not be sealed just now. */
  readonly unsealedBy?: Error;
}

/** A check of the ledger that concerns every run in it: returns its detail, null when it does not apply, or throws. */
export interface LedgerCheck {
  readonly id: string;
  /** `seal` is the run's envelope; null when it has none, or it cannot be read. */
  run(seal: Buffer | null): Promise<string | null> | string | null;
}

/** Checks an export, given as bytes or as a file. Needs no state folder and no network. */
export async function verifyExport(
  fileOrBytes: string | Uint8Array,
  options: VerifyOptions,
): Promise<Verification> {
  if (typeof fileOrBytes !== 'string')
    return await verifySource(bytesSource(Buffer.from(fileOrBytes)), options);
  const fd = openExport(fileOrBytes);
  try {
    return await verifySource(fileSource(fd), options);
  } finally {
    closeSync(fd);
  }
}

/** Checks a run in its state folder. */
export async function verifyRun(
  ledger: Ledger,
  store: Store,
  runId: string,
  options: VerifyOptions,
  ledgerChecks: readonly LedgerCheck[] = [],
): Promise<Verification> {
  let events: readonly StoredEvent[];
  try {
    events = await ledger.readRun(runId);
  } catch (cause) {
    return await failVerification('event-chain', cause);
  }
  const seal = findSeal(events);
  if (seal === null) {
    const unsealed = await failVerification('seal', whyUnsealed(ledger, runId, events, options.unsealedBy));
    return await withMore({ ...unsealed, runId }, async (report) => {
      for (const { id, run } of ledgerChecks) await report.check(id, () => run(null));
    });
  }
  const verification = await checkEvidence(
    {
      readRunId: () => runId,
      readEnvelope: () => store.getBlob(seal.envelopeRef),
      readPublicKey: async () => null,
      readManifest: (digest) => store.getBlob(digest),
      readResult: (digest) => store.getBlob(digest),
      hasLaterEvents: true,
      readEvents: async () => events.map(toChainEvent),
      measureArtefact: (digest) => measureBlob(store, digest),
      listStray: () => [],
    },
    options.trustedKeys,
  );
  return await withMore(verification, async (report) => {
    await report.check('inputs', () => checkInputs(store, events));
    const envelope = await store.getBlob(seal.envelopeRef).catch(() => null);
    for (const { id, run } of ledgerChecks) await report.check(id, () => run(envelope));
    if (envelope === null) return;
    await report.check('seal-chain', () =>
      checkLink(ledger, parseStatement(parseEnvelope(envelope).payload).chain, seal.chain),
    );
    if (options.witness !== undefined)
      await report.check('witness', () => demandWitnessed(envelope, options));
  });
}

async function withMore(
  verification: Verification,
  add: (report: CheckReport) => Promise<void>,
): Promise<Verification> {
  const report = new CheckReport();
  await add(report);
  const checks = [...verification.checks, ...report.checks];
  return { ...verification, checks, outcome: decideOutcome(checks) };
}

function demandWitnessed(envelope: Buffer, { witness = [] }: VerifyOptions): string {
  const seen = describeWitnessed(envelope, witness);
  if (seen === null) throw new EvidenceMalformedError('the witness has no line of this seal');
  return seen;
}

async function verifySource(source: ByteSource, options: VerifyOptions): Promise<Verification> {
  let entries: TarEntry[];
  try {
    entries = listTar(source);
  } catch (cause) {
    return await failVerification('container', cause);
  }
  const parts = new ExportSource(source, entries);
  const verification = await checkEvidence(parts, options.trustedKeys);
  const container = {
    id: 'container',
    verdict: 'ok' as const,
    detail: `${entries.length} parts, every byte accounted for`,
  };
  const { witness } = options;
  const whole = { ...verification, checks: [container, ...verification.checks] };
  if (witness === undefined) return whole;
  return await withMore(whole, (report) =>
    report.check('witness', async () => demandWitnessed(await parts.readEnvelope(), options)),
  );
}

function openExport(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new EvidenceMalformedError(`cannot read the export ${file}: ${detail}`, {
      cause,
      remedy: 'Give the path of a file that "caisson export" wrote.',
    });
  }
}

function bytesSource(bytes: Buffer): ByteSource {
  return { size: bytes.length, readAt: (offset, length) => bytes.subarray(offset, offset + length) };
}

function fileSource(fd: number): ByteSource {
  const { size } = fstatSync(fd);
  return {
    size,
    readAt: (offset, length) => {
      const bytes = Buffer.alloc(length);
      let filled = 0;
      while (filled < length) {
        const count = readSync(fd, bytes, filled, length - filled, offset + filled);
        if (count === 0) throw new EvidenceMalformedError('the file became shorter while it was read');
        filled += count;
      }
      return bytes;
    },
  };
}

async function measureBlob(store: Store, digest: string): Promise<FoundBlob> {
  const hashing = createHash('sha256');
  let size = 0;
  for await (const chunk of await store.openBlob(digest)) {
    const bytes: Buffer = chunk;
    hashing.update(bytes);
    size += bytes.length;
  }
  return { digest: hashing.digest('hex'), size };
}

/** A seal that was removed is not a seal that is still to be made. */
function whyUnsealed(
  ledger: Ledger,
  runId: string,
  events: readonly StoredEvent[],
  by: Error | undefined,
): Error {
  if (by instanceof TamperedError) return by;
  try {
    refuseLostSeal(ledger, runId, events);
  } catch (error) {
    return error as Error;
  }
  if (events.length === 0) return new IncompleteError(`there is no run ${runId} in this ledger`);
  if (!events.some((event) => isTerminal(event.type)))
    return new IncompleteError(`run ${runId} has not ended, so it has no seal yet`);
  const why = by === undefined ? '' : `: ${by.message}`;
  return new IncompleteError(`run ${runId} has ended and has no seal${why}`);
}
