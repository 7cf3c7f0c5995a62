/**
 * The checks, one after the other. A check that fails never stops the others: the reader needs to know everything that
 * is wrong. Order of trust: the signature proves the statement, the statement proves the rest.
 */
import { hash } from 'node:crypto';

import { isTerminal } from '@caisson/protocol';

import { CheckReport, decideOutcome, KEY_CHECK, SIGNATURE_CHECK } from './check-report.ts';
import type { Artefact, PublicKey, Verification } from './contract.ts';
import { parseEnvelope, parseJson, verifyEnvelope, type ReadEnvelope } from './dsse.ts';
import { EvidenceMalformedError } from './errors.ts';
import type { ChainEvent } from '../ledger/index.ts';
import { findBreak } from './event-chain.ts';
import type { EvidenceSource } from './evidence-source.ts';
import { parseManifest } from './manifest.ts';
import { merkleRoot } from './merkle.ts';
import { parsePublicKey } from './public-key.ts';
import { parseStatement, type ReadStatement } from './statement.ts';

export async function checkEvidence(
  source: EvidenceSource,
  trusted: readonly PublicKey[],
): Promise<Verification> {
  const report = new CheckReport();
  let isThere = true;
  const failToRead = (cause: unknown): never => {
    isThere = cause instanceof EvidenceMalformedError;
    throw cause;
  };
  const read = async () => parseEnvelope(await source.readEnvelope().catch(failToRead));
  const envelope = await report.value('envelope', read, 'canonical DSSE envelope');
  // Without an envelope there is no wrong signature, also where the store has lost it.
  if (!isThere) report.miss(['statement', SIGNATURE_CHECK, KEY_CHECK], 'there is no envelope to read');
  const statement = isThere ? await readStatement(report, envelope) : null;
  await report.check('run-id', () => checkRunId(source, statement));
  await report.check(
    'public-key',
    () => checkPublicKey(source, statement),
    'no copy of the key came along: only an export has one',
  );
  if (isThere) {
    await report.check(SIGNATURE_CHECK, async () => checkSignature(envelope, statement, trusted));
    await report.check(KEY_CHECK, async () => checkTrust(envelope, trusted));
  }
  if (statement === null)
    report.skip(
      ['manifest', 'event-chain', 'event-count', 'merkle-root', 'result'],
      'there is no statement to compare with',
    );
  else await checkAgainst(source, statement, report);
  return {
    runId: statement?.runId ?? null,
    keyId: envelope?.keyId ?? null,
    checks: report.checks,
    outcome: decideOutcome(report.checks),
  };
}

/** A verification that could not even begin. */
export async function failVerification(id: string, cause: unknown): Promise<Verification> {
  const report = new CheckReport();
  await report.check(id, () => Promise.reject(cause));
  return { runId: null, keyId: null, checks: report.checks, outcome: decideOutcome(report.checks) };
}

function readStatement(report: CheckReport, envelope: ReadEnvelope | null): Promise<ReadStatement | null> {
  return report.value(
    'statement',
    () => parseStatement(demand(envelope, 'there is no readable envelope').payload),
    'in-toto statement with SLSA v1 provenance',
  );
}

async function checkAgainst(
  source: EvidenceSource,
  statement: ReadStatement,
  report: CheckReport,
): Promise<void> {
  await report.check('manifest', () => checkManifest(source, statement));
  const events = await report.value(
    'event-chain',
    async () => readChain(source, statement),
    'every event has its hash and follows the one before',
  );
  if (report.isMissing('event-chain')) report.miss(['event-count', 'merkle-root'], 'there are no events');
  else {
    await report.check('event-count', () => checkCount(events, statement, source));
    await report.check('merkle-root', async () => checkRoot(events, statement));
  }
  await report.check('result', () => checkResult(source, statement, events));
  for (const artefact of statement.artefacts)
    await report.check(`artefact:${artefact.name}`, () => checkArtefact(source, artefact));
  await report.check('parts', async () => checkStray(source, statement));
}

function checkRunId(source: EvidenceSource, statement: ReadStatement | null): string | null {
  const runId = source.readRunId();
  if (statement === null) return null;
  if (statement.runId !== runId) {
    throw new EvidenceMalformedError(`statement is about run ${statement.runId}, not ${runId}`);
  }
  return runId;
}

async function checkPublicKey(
  source: EvidenceSource,
  statement: ReadStatement | null,
): Promise<string | null> {
  const bytes = await source.readPublicKey();
  if (bytes === null) return null;
  const key = parsePublicKey(bytes.toString('latin1'), 'the public key that came along');
  if (key.pem !== bytes.toString('latin1'))
    throw new EvidenceMalformedError('public key is not in canonical form');
  if (statement !== null && statement.publicKeyPem !== key.pem)
    throw new EvidenceMalformedError('public key is not the one that the statement names');
  return `Ed25519 ${key.keyId}`;
}

/** With the trusted key of that id if there is one, else with the key the statement names: that proves integrity only. */
async function checkSignature(
  envelope: ReadEnvelope | null,
  statement: ReadStatement | null,
  trusted: readonly PublicKey[],
): Promise<string> {
  const signed = demand(envelope, 'there is no readable envelope');
  const known = trusted.find((key) => key.keyId === signed.keyId);
  const key =
    known ??
    parsePublicKey(
      demand(statement, 'there is no readable statement').publicKeyPem,
      'the key in the statement',
    );
  if (key.keyId !== signed.keyId)
    throw new EvidenceMalformedError(`envelope names key ${signed.keyId}, the statement ${key.keyId}`);
  if (!verifyEnvelope(signed, key))
    throw new EvidenceMalformedError(`key ${key.keyId} did not sign this statement`);
  return known === undefined ? 'valid for the key that came along' : 'valid for a trusted key';
}

async function checkTrust(envelope: ReadEnvelope | null, trusted: readonly PublicKey[]): Promise<string> {
  const { keyId } = demand(envelope, 'there is no readable envelope');
  if (trusted.some((key) => key.keyId === keyId)) return `key ${keyId} is trusted`;
  const have =
    trusted.length === 0
      ? 'no key is trusted here'
      : `trusted here: ${trusted.map((key) => key.keyId).join(', ')}`;
  throw new EvidenceMalformedError(`key ${keyId} is not among the trusted ones (${have})`);
}

async function checkManifest(source: EvidenceSource, statement: ReadStatement): Promise<string> {
  const bytes = await source.readManifest(statement.manifestDigest);
  demandDigest('manifest', bytes, statement.manifestDigest);
  const manifest = parseManifest(bytes);
  if (manifest.runId !== statement.runId)
    throw new EvidenceMalformedError(`manifest is of run ${manifest.runId}`);
  return `sha256 ${statement.manifestDigest}`;
}

/** The sealed part of the run; what was added after the seal is chained to it but not signed. */
async function readChain(source: EvidenceSource, statement: ReadStatement): Promise<readonly ChainEvent[]> {
  const events = await source.readEvents();
  const broken = findBreak(events, statement.runId);
  if (broken !== null) throw new EvidenceMalformedError(broken);
  return events;
}

function checkCount(
  events: readonly ChainEvent[] | null,
  statement: ReadStatement,
  { hasLaterEvents }: EvidenceSource,
): string {
  const { count } = statement.events;
  const found = demand(events, 'the events are not readable').length;
  if (found < count)
    throw new EvidenceMalformedError(`${count} events were sealed, ${found} are here: some were removed`);
  if (found > count && !hasLaterEvents)
    throw new EvidenceMalformedError(
      `${count} events were sealed, ${found} are here: the rest is not signed`,
    );
  return found === count ? `${count} events` : `${count} events were sealed, ${found - count} came later`;
}

function checkRoot(events: readonly ChainEvent[] | null, statement: ReadStatement): string {
  const sealed = demand(events, 'the events are not readable').slice(0, statement.events.count);
  const root = merkleRoot(sealed.map((event) => event.hash));
  const head = sealed.at(-1);
  if (root !== statement.events.merkleRoot)
    throw new EvidenceMalformedError(
      `root of the events is ${root}, sealed was ${statement.events.merkleRoot}`,
    );
  if (head?.hash !== statement.events.head)
    throw new EvidenceMalformedError('last sealed event is another one');
  if (!isTerminal(head.type))
    throw new EvidenceMalformedError(`last sealed event is ${head.type}, not a terminal one`);
  return root;
}

async function checkResult(
  source: EvidenceSource,
  statement: ReadStatement,
  events: readonly ChainEvent[] | null,
): Promise<string | null> {
  const { resultDigest } = statement;
  const ending = events?.[statement.events.count - 1];
  const { resultRef: recorded } = ending?.data ?? {};
  if (recorded !== undefined && recorded !== resultDigest) {
    throw new EvidenceMalformedError(
      `the terminal event names result ${JSON.stringify(recorded)}, the statement ${JSON.stringify(resultDigest)}`,
    );
  }
  if (resultDigest === null) return null;
  const bytes = await source.readResult(resultDigest);
  demandDigest('result', bytes, resultDigest);
  parseJson(bytes);
  return `sha256 ${resultDigest}`;
}

async function checkArtefact(source: EvidenceSource, artefact: Artefact): Promise<string> {
  const found = await source.measureArtefact(artefact.digest);
  if (found.digest !== artefact.digest) {
    throw new EvidenceMalformedError(
      `artefact ${artefact.name} hashes to ${found.digest}, sealed was ${artefact.digest}`,
    );
  }
  if (found.size !== artefact.size)
    throw new EvidenceMalformedError(
      `artefact ${artefact.name} has ${found.size} bytes, sealed were ${artefact.size}`,
    );
  return `sha256 ${artefact.digest}, ${artefact.size} bytes`;
}

function checkStray(source: EvidenceSource, statement: ReadStatement): string {
  const digests = statement.artefacts.map((artefact) => artefact.digest);
  const stray = source.listStray({ digests, hasResult: statement.resultDigest !== null });
  if (stray.length > 0) throw new EvidenceMalformedError(`not signed: ${stray.join(', ')}`);
  return 'nothing is here that was not signed';
}

function demandDigest(what: string, bytes: Buffer, expected: string): void {
  const actual = hash('sha256', bytes);
  if (actual !== expected)
    throw new EvidenceMalformedError(`${what} hashes to ${actual}, sealed was ${expected}`);
}

function demand<T>(value: T | null, complaint: string): T {
  if (value === null) throw new EvidenceMalformedError(complaint);
  return value;
}
