/** What a seal and a check read of the file of a witness, in bytes that the kernel counts: never all of it for each run. */
import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fillLedger } from '../../bench/read-model/fill-ledger.ts';
import { createWitnessCourier } from '../../packages/engine/src/composition/witness-courier.ts';
import { STAGE_RUN, stageSealedRun } from '../../packages/engine/src/evidence/evidence-stage.ts';
import {
  compareWitness,
  encodeWitnessLine,
  walkSeals,
  watchWitness,
  type RecordedSeal,
} from '../../packages/engine/src/evidence/index.ts';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';

const RUNS = 2000;

interface Witnessed {
  readonly ledger: Ledger;
  readonly file: string;
  readonly seals: readonly RecordedSeal[];
  readonly lines: readonly string[];
  write(lines: readonly string[]): void;
}

async function createWitnessed(): Promise<Witnessed> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-large-witness-'));
  await fillLedger(join(folder, 'ledger.db'), RUNS, (place) => hash('sha256', `seal ${place}`));
  const ledger = openLedger(join(folder, 'ledger.db'));
  onTestFinished(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const file = join(folder, 'seals.ndjson');
  const seals = [...walkSeals(ledger)];
  const lines = seals.map((seal) => encodeWitnessLine(seal) ?? '');
  const write = (some: readonly string[]): void => writeFileSync(file, some.join(''));
  write(lines);
  return { ledger, file, seals, lines, write };
}

async function countRead(work: () => unknown): Promise<number> {
  const before = readBytes();
  await work();
  return readBytes() - before;
}

function readBytes(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

it('a seal adds its line, and the lines that are missing, by the end of the file alone', async () => {
  const { ledger, file, seals, lines, write } = await createWitnessed();
  const warnings: string[] = [];
  const courier = createWitnessCourier(file, ledger, (message) => warnings.push(message));
  const send = (): Promise<number> => countRead(() => courier?.send(seals.at(-1) as RecordedSeal));
  write(lines.slice(0, -1));
  expect(await send()).toBeLessThan(lines.join('').length / 4);
  expect(readFileSync(file, 'utf8')).toBe(lines.join(''));
  await send();
  expect(readFileSync(file, 'utf8'), 'a line that is there').toBe(lines.join(''));
  for (const kept of [lines.slice(0, -1500), [lines[0] ?? '', '{"half'], []]) {
    write(kept);
    await send();
    const healed = readFileSync(file, 'utf8').replace('{"half\n', '');
    expect(healed).toBe(lines.join(''));
  }
  const foreign = lines.map((line) =>
    line.replaceAll(/"seal":"[0-9a-f]{64}"/g, `"seal":"${'0'.repeat(64)}"`),
  );
  write([...lines.slice(0, -2), ...foreign]);
  await send();
  expect(readFileSync(file, 'utf8').endsWith([foreign.at(-1), ...lines.slice(-2)].join(''))).toBe(true);
  expect(warnings).toEqual([]);
});

it('two thousand checks read the file once, and again when it has changed', async () => {
  const { ledger, file, lines, write } = await createWitnessed();
  const stage = await stageSealedRun();
  onTestFinished(() => stage.close());
  const [sealed] = [...walkSeals(stage.ledger)];
  const line = encodeWitnessLine(sealed as RecordedSeal) ?? '';
  const envelope = await stage.store.getBlob(stage.seal.envelopeRef);
  const witness = watchWitness(file, ledger);
  const check = async (): Promise<void> => {
    for (let run = 0; run < RUNS; run += 1) {
      expect(await witness.describe(envelope)).toBeNull();
      expect(await witness.findContradiction()).toBeNull();
    }
  };
  // The seals of the ledger are read beside it, again after some time, and each look at a file has its own cost.
  expect(await countRead(check)).toBeLessThan(40 * lines.join('').length);
  write([...lines.slice(0, 900), line, ...lines.slice(900)]);
  expect(await witness.describe(envelope)).toContain('as seal 1');
  write([...lines, line.replace(stage.seal.envelopeRef, 'f'.repeat(64))]);
  await expect(witness.describe(envelope)).rejects.toThrow(
    `the witness saw ${'f'.repeat(64)} of ${STAGE_RUN}`,
  );
  write([...lines.slice(0, 5), 'no line\n', ...lines.slice(5)]);
  await expect(witness.describe(envelope)).rejects.toThrow('line 6 of the witness is damaged');
});

it('lines in any order agree with the ledger; another seal, or one that it lacks, does not', async () => {
  const { ledger, file, lines, write } = await createWitnessed();
  const compare = () => compareWitness(file, ledger);
  expect(await compare()).toEqual({ problem: null, seals: RUNS, seen: RUNS });
  write([...lines.slice(1000), ...lines.slice(0, 1000), ...lines.slice(0, 10), '{"half a line']);
  expect(await compare()).toEqual({ problem: null, seals: RUNS, seen: RUNS });
  write(lines.filter((_line, index) => index % 2 === 0));
  expect(await compare()).toEqual({ problem: null, seals: RUNS, seen: RUNS / 2 });
  const changed = lines[700]?.replace(/"seal":"[0-9a-f]{64}"/, `"seal":"${'f'.repeat(64)}"`) ?? '';
  write([...lines, changed]);
  expect((await compare()).problem).toContain('than this ledger has: history was rewritten');
  const lost = lines[700]?.replace('"number":701,', `"number":${RUNS + 1},`) ?? '';
  write([...lines, lost]);
  expect((await compare()).problem).toContain('this ledger has none: a run was removed');
  write([...lines, lost.replace(/"ledger":"[^"]*"/, '"ledger":"another"')]);
  expect((await compare()).problem).toBeNull();
});
