/**
 * A witness gets one line for every seal, so that the owner of the signing key cannot sign another history unseen. This
 * file has the lines and what they prove; `composition/witness-courier.ts` sends them.
 *
 * A line of the witness that the ledger contradicts is an alarm. A seal without a line is not: the witness may have
 * been configured later, or could not be reached.
 */
import { hash } from 'node:crypto';

import { Sha256 } from '@caisson/protocol';
import * as z from 'zod/mini';

import { canonicalJson, findLedgerId, type Ledger } from '../ledger/index.ts';
import { parseEnvelope } from './dsse.ts';
import { EvidenceMalformedError } from './errors.ts';
import { listSeals, type RecordedSeal } from './seal-chain.ts';
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
  return lines.map((line, index) => {
    const parsed = WitnessLine.safeParse(parseJson(line));
    if (!parsed.success) throw new EvidenceMalformedError(`line ${index + 1} of the witness is damaged`);
    return parsed.data;
  });
}

/** The first line that the ledger contradicts, in words; null when there is none. */
export function findContradiction(lines: readonly WitnessLine[], ledger: Ledger): string | null {
  const seals = listSeals(ledger);
  const ids = new Set([findLedgerId(ledger.kv), ...seals.flatMap(({ seal }) => seal.chain?.ledger ?? [])]);
  const byNumber = new Map(seals.map((recorded) => [recorded.seal.chain?.number, recorded]));
  for (const line of lines) {
    if (!ids.has(line.ledger)) continue; // several ledgers may have one witness
    const here = byNumber.get(line.number);
    if (here === undefined)
      return `the witness saw seal ${line.number} of ${line.runId} at ${line.at}, and this ledger has none: a run was removed`;
    if (here.seal.envelopeRef !== line.seal)
      return `the witness saw another seal ${line.number} (${line.seal} of ${line.runId}) than this ledger has: history was rewritten`;
  }
  return null;
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
