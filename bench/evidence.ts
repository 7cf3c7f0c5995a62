/** Verifying the export of a 1,000-event run against that of an empty one. */
import { join } from 'node:path';

import { exportRun, verifyExport } from '../packages/engine/src/evidence/index.ts';
import { STAGE_RUN, stageSealedRun } from '../packages/engine/src/evidence/evidence-stage.ts';
import type { BenchRow } from './bench-row.ts';

const ROUNDS = 15;
const MORE_MS = 300;

export async function run(): Promise<BenchRow[]> {
  const full = await timeVerify(996);
  const empty = await timeVerify(0);
  const moreMs = full - empty;
  return [
    {
      name: 'evidence: verify of a 1,000-event run, more than of an empty one',
      value: moreMs,
      unit: 'ms',
      peer: 'verify of an empty run',
      peerValue: empty,
      ratio: full / empty,
      target: `< ${MORE_MS} ms more`,
      met: moreMs < MORE_MS,
    },
  ];
}

/** Median; the stage adds four lifecycle events of its own. */
async function timeVerify(fillers: number): Promise<number> {
  const stage = await stageSealedRun({ fillers });
  try {
    const file = join(stage.folder, 'run.tar');
    await exportRun({ ledger: stage.ledger, store: stage.store, runId: STAGE_RUN, to: file });
    const trustedKeys = await stage.keyring.trustedKeys();
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const startedAt = performance.now();
      const { outcome } = await verifyExport(file, { trustedKeys });
      times.push(performance.now() - startedAt);
      if (outcome !== 'ok') throw new Error(`the staged run does not verify: ${outcome}`);
    }
    return times.toSorted((left, right) => left - right)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
  } finally {
    await stage.close();
  }
}
