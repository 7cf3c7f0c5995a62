/**
 * A witness gets one line for every seal, so that the owner of the signing key cannot sign another history unseen. This
 * file has the lines and what they prove of one seal, `compare-witness.ts` what they prove of a ledger;
 * `composition/witness-courier.ts` sends them.
 *
 * A line of the witness that the ledger contradicts is an alarm. A seal without a line is not: the witness may have
 * been configured later, or could not be reached.
 */
import { hash } from 'node:crypto';

import { Sha256 } from '@caisson/protocol';
import * as z from 'zod/mini';

import { canonicalJson } from '../ledger/index.ts';
import { parseEnvelope } from './dsse.ts';
import { EvidenceMalformedError } from './errors.ts';
import type { RecordedSeal } from './seal-chain.ts';
import { parseStatement } from './statement.ts';

const WitnessLine = z.strictObject({
  at: z.string(),
  ledger: z.string(),
  number: z.int(),
  previous: z.nullable(Sha256),
  runId: z.string(),
  seal: Sha256,
});
export type WitnessLine = z.infer<typeof WitnessLine>;

/** The line of a seal, with its line end; null for a seal of the first versions, which has no place in a chain. */
export function encodeWitnessLine({ runId, at, seal }: RecordedSeal): string | null {
  if (seal.chain === undefined) return null;
  const { ledger, number, previous } = seal.chain;
  const line: WitnessLine = { at, ledger, number, previous, runId, seal: seal.envelopeRef };
  return `${canonicalJson(line)}\n`;
}

/** Guards the edge. The last line may be half written; any other that cannot be read is an error that names it. */
export function parseWitness(text: string): WitnessLine[] {
  const lines = text.split('\n');
  lines.pop(); // what follows the last line end
  return lines.map((line, index) => parseWitnessLine(line, index + 1));
}

/** One line without its end. */
export function parseWitnessLine(text: string, number: number | null): WitnessLine {
  const parsed = WitnessLine.safeParse(parseJson(text));
  if (!parsed.success) throw describeDamage(number);
  return parsed.data;
}

/** The error of a line that cannot be read; null is a line whose number is not known. */
export function describeDamage(number: number | null): EvidenceMalformedError {
  return new EvidenceMalformedError(
    `${number === null ? 'a line' : `line ${number}`} of the witness is damaged`,
  );
}

/**
 * When the witness saw a seal, in words; null when it has no line of it. Throws when it saw another one in its place.
 */
export function describeWitnessed(envelope: Buffer, lines: readonly WitnessLine[]): string | null {
  const seal = hash('sha256', envelope);
  const { runId, chain } = parseStatement(parseEnvelope(envelope).payload);
  const found = lines.find((line) => line.runId === runId && line.seal === seal);
  if (found !== undefined) return `seen at ${found.at} as seal ${found.number}`;
  const other = lines.find(
    (line) => line.runId === runId || (line.ledger === chain?.ledger && line.number === chain.number),
  );
  if (other === undefined) return null;
  throw new EvidenceMalformedError(
    `the witness saw ${other.seal} of ${other.runId} as seal ${other.number} at ${other.at}, and this one is ${seal}`,
  );
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
