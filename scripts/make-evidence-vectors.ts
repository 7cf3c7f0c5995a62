/**
 * Writes the public test vectors of the evidence format into tests/vectors/evidence: exports, the keys to believe, and
 * index.json, which says what each must get. The private keys are made for it and thrown away, so that every call
 * writes other bytes: call it only when the format changes.
 *
 *   node scripts/make-evidence-vectors.ts
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { SigningKey, VerifyOutcome } from '../packages/engine/src/evidence/contract.ts';
import { STAGE_RUN, stageSealedRun } from '../packages/engine/src/evidence/evidence-stage.ts';
import { exportRun } from '../packages/engine/src/evidence/export.ts';
import { describePublicKey } from '../packages/engine/src/evidence/public-key.ts';
import { listCases } from './evidence-vectors/cases.ts';
import { readParts, writeParts } from './evidence-vectors/edits.ts';

const FOLDER = fileURLToPath(new URL('../tests/vectors/evidence', import.meta.url));

interface Vector {
  readonly file: string;
  readonly about: string;
  readonly outcome: VerifyOutcome;
  /** Ids of the checks that must fail, or miss what they look at, and no others. */
  readonly failed: readonly string[];
}
const keyPair = (): SigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    ...describePublicKey(publicKey, 'vector'),
    sign: (data) => Promise.resolve(sign(null, data, privateKey)),
  };
};
function outcomeOf(failed: readonly string[], isOnlyMissing: boolean): VerifyOutcome {
  if (isOnlyMissing) return 'incomplete';
  if (failed.includes('signature')) return 'bad-signature';
  if (failed.some((id) => id !== 'key')) return 'tampered';
  return failed.length > 0 ? 'no-key' : 'ok';
}

async function exportStage(options: Parameters<typeof stageSealedRun>[0]): Promise<Buffer> {
  const stage = await stageSealedRun(options);
  const to = join(stage.folder, 'vector.tar');
  await exportRun({ ledger: stage.ledger, store: stage.store, runId: STAGE_RUN, to });
  const bytes = readFileSync(to);
  await stage.close();
  return bytes;
}

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const own = keyPair();
const vectors: Vector[] = [];
const write = (
  name: string,
  bytes: Buffer,
  about: string,
  failed: readonly string[],
  isOnlyMissing = false,
): void => {
  writeFileSync(join(FOLDER, `${name}.tar`), bytes);
  vectors.push({ file: `${name}.tar`, about, outcome: outcomeOf(failed, isOnlyMissing), failed });
};
const base = await exportStage({ key: own });
write('good', base, 'A run with a result, a patch and an output.', []);
write(
  'good-without-result',
  await exportStage({ key: own, withResult: false }),
  'A run that ended without a result.',
  [],
);
write(
  'good-without-chain',
  await exportStage({ key: own, isChained: false }),
  'A seal of the first versions, without a place among the seals.',
  [],
);
for (const [name, { about, failed, isOnlyMissing, edit, damage }] of Object.entries(
  listCases(own, keyPair()),
)) {
  const parts = readParts(base);
  await edit?.(parts);
  write(name, damage === undefined ? writeParts(parts) : damage(base), about, failed, isOnlyMissing);
}
writeFileSync(join(FOLDER, 'key.pem'), own.pem);
writeFileSync(join(FOLDER, 'index.json'), `${JSON.stringify({ key: 'key.pem', vectors }, null, 2)}\n`);
process.stdout.write(`${vectors.length} vectors in ${FOLDER}\n`);
