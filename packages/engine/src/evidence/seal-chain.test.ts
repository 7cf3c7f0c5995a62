import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { getLedgerId, type Ledger } from '../ledger/index.ts';
import { STAGE_RUN, stageSealedRun } from './evidence-stage.ts';
import { openLedgerHeads } from './ledger-head.ts';
import { findChainBreak, nextLink, walkSeals } from './seal-chain.ts';
import { verifyRun } from './verify.ts';

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'caisson-heads-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('a seal of the first versions, which has no place in a chain, verifies, and the chain begins after it', async () => {
  const stage = await stageSealedRun({ isChained: false });
  onTestFinished(() => stage.close());
  const trustedKeys = await stage.keyring.trustedKeys();
  const verification = await verifyRun(stage.ledger, stage.store, STAGE_RUN, { trustedKeys });
  expect(verification.outcome).toBe('ok');
  expect(verification.checks.find(({ id }) => id === 'seal-chain')?.verdict).toBe('not-applicable');
  const link = nextLink(stage.ledger);
  expect(link).toEqual({
    ledger: getLedgerId(stage.ledger),
    number: 1,
    previous: stage.seal.envelopeRef,
    previousRun: STAGE_RUN,
  });
  const seals = [...walkSeals(stage.ledger)];
  const [first] = seals;
  if (first === undefined) throw new Error('there is a seal');
  const next = { ...first, seal: { ...stage.seal, envelopeRef: 'f'.repeat(64), chain: link } };
  expect(findChainBreak([...seals, next])).toBeNull();
  expect(findChainBreak([next])).toContain('follows a seal that is not in this ledger');
});

it('a head that cannot be read is said to be so, and never stands for a ledger that lost runs', async () => {
  const stage = await stageSealedRun();
  onTestFinished(() => stage.close());
  const folder = await createFolder();
  const heads = openLedgerHeads(folder);
  const [newest] = [...walkSeals(stage.ledger)];
  if (newest === undefined) throw new Error('there is a seal');
  expect(heads.advance(stage.folder, stage.ledger, newest)).toEqual({ kind: 'none' });
  expect(heads.judge(stage.folder, stage.ledger)).toMatchObject({ kind: 'ok', head: { runId: STAGE_RUN } });
  expect(heads.listStateFolders()).toEqual([stage.folder]);
  heads.prune(new Date());
  expect(heads.listStateFolders()).toEqual([stage.folder]);
  const [name = ''] = await readdir(folder);
  await writeFile(join(folder, name), '{"ledger":');
  expect(heads.judge(stage.folder, stage.ledger)).toEqual({ kind: 'unreadable' });
  await writeFile(join(folder, name), ''); // as a power cut may leave it
  expect(heads.judge(stage.folder, stage.ledger)).toEqual({ kind: 'none' });
});

it('the run of the head is read once by a ledger, and a seal that is removed later is missed all the same', async () => {
  const stage = await stageSealedRun();
  onTestFinished(() => stage.close());
  let reads = 0;
  const read = (query = {}) => ((reads += 1), stage.ledger.read(query));
  let isRemoved = false;
  const find: Ledger['find'] = (id) => (isRemoved ? null : stage.ledger.find(id));
  const ledger = { ...stage.ledger, find, read: (query = {}) => (isRemoved ? [] : read(query)) } as Ledger;
  const heads = openLedgerHeads(await createFolder());
  const [newest] = [...walkSeals(stage.ledger)];
  if (newest === undefined) throw new Error('there is a seal');
  heads.advance(stage.folder, ledger, newest);
  for (let times = 0; times < 3; times += 1)
    expect(heads.judge(stage.folder, ledger)).toMatchObject({ kind: 'ok' });
  expect(reads).toBe(1);
  isRemoved = true;
  expect(heads.judge(stage.folder, ledger).kind).toBe('rolled-back');
});

it('a ledger whose id was changed is still the one that its signed seals say it is', async () => {
  const stage = await stageSealedRun();
  onTestFinished(() => stage.close());
  const heads = openLedgerHeads(await createFolder());
  const [newest] = [...walkSeals(stage.ledger)];
  if (newest?.seal.chain === undefined) throw new Error('there is a seal');
  const removed = { ...newest, runId: 'run_zzzzzzzzzzzzzzzzzzzz' };
  heads.advance(stage.folder, stage.ledger, removed);
  stage.ledger.kv.set('ledger', 'id', 'ledger_other');
  expect(heads.judge(stage.folder, stage.ledger).kind).toBe('rolled-back');
});

it('the head of a folder that is gone is forgotten once it is old', async () => {
  const stage = await stageSealedRun();
  const heads = openLedgerHeads(await createFolder());
  const [newest] = [...walkSeals(stage.ledger)];
  if (newest === undefined) throw new Error('there is a seal');
  heads.advance(stage.folder, stage.ledger, newest);
  await stage.close();
  heads.prune(new Date(Date.parse(newest.at)));
  expect(heads.listStateFolders()).toEqual([stage.folder]);
  heads.prune(new Date());
  expect(heads.listStateFolders()).toEqual([]);
});
