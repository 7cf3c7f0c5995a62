/**
 * The file of a witness for those who check one run after the other: it is compared with the ledger as a whole once, not
 * for each run, and again when it has changed, or some time has passed (the ledger may have changed).
 */
import { statSync } from 'node:fs';
import type { Ledger } from '../ledger/index.ts';
import { compareWitness } from './compare-witness.ts';
import { parseEnvelope } from './dsse.ts';
import { LineIndex } from './line-index.ts';
import { parseStatement } from './statement.ts';
import { readLinesAt } from './witness-file.ts';
import { describeWitnessed } from './witness.ts';

/** Of all time this part at most goes into comparisons of a file that has not changed. */
const SHARE = 0.1;

export interface WatchedWitness {
  /** When the witness saw that seal, in words; null when it has no line of it. Throws when it saw another one. */
  describe(envelope: Buffer): Promise<string | null>;
  /** What of the file contradicts the ledger, in words. */
  findContradiction(): Promise<string | null>;
}

interface Comparison {
  readonly index: LineIndex;
  readonly problem: string | null;
}

export function watchWitness(file: string, ledger: Ledger): WatchedWitness {
  let known: Promise<Comparison> | null = null;
  let state = '';
  let againAtMs = 0;
  const compare = (): Promise<Comparison> => {
    const now = describeState(file);
    if (known !== null && now === state && performance.now() < againAtMs) return known;
    state = now;
    againAtMs = Infinity; // those who ask meanwhile get this one
    const begunMs = performance.now();
    known = compareAll(file, ledger).finally(() => {
      const tookMs = performance.now() - begunMs;
      againAtMs = performance.now() + tookMs / SHARE;
    });
    return known;
  };
  return {
    async describe(envelope) {
      const { index } = await compare();
      const { runId, chain } = parseStatement(parseEnvelope(envelope).payload);
      const places = new Set([...index.find(runId), ...(chain === null ? [] : index.find(placeName(chain)))]);
      const lines = readLinesAt(
        file,
        [...places].toSorted((a, b) => a - b),
      );
      return describeWitnessed(envelope, lines);
    },
    findContradiction: async () => (await compare()).problem,
  };
}

async function compareAll(file: string, ledger: Ledger): Promise<Comparison> {
  const index = new LineIndex();
  const { problem } = await compareWitness(file, ledger, ({ line, at }) => {
    index.add(line.runId, at);
    index.add(placeName(line), at);
  });
  return { index, problem };
}

function placeName({ ledger, number }: { readonly ledger: string; readonly number: number }): string {
  return `${ledger} ${number}`;
}

function describeState(file: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}
