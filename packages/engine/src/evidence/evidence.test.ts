import { generateKeyPairSync, sign } from 'node:crypto';
import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runBounded } from '@caisson/ground';

import { canonicalJson, hashEvent, openLedger, type ChainEvent } from '../ledger/index.ts';
import type { PublicKey, Verification } from './contract.ts';
import { encodeEnvelope, preAuthEncoding, signEnvelope } from './dsse.ts';
import { KeyInvalidError, NotSealedError, SealRefusedError } from './errors.ts';
import { parseEvents } from './event-chain.ts';
import { listStoredBlobs } from '../store/fixtures/stored-blobs.ts';
import { createStageManifest, STAGE_RUN, stageSealedRun, type Stage } from './evidence-stage.ts';
import { exportRun } from './export.ts';
import { createFileSink } from './file-sink.ts';
import { openKeyring } from './keys.ts';
import { encodeManifest } from './manifest.ts';
import { merkleRoot } from './merkle.ts';
import { describePublicKey, parsePublicKey } from './public-key.ts';
import { prepareSeal } from './seal.ts';
import { encodeTarHeader, listTar, paddingOf, TAR_END } from './tar.ts';
import { verifyExport, verifyRun } from './verify.ts';

const failedIds = (verification: Verification) =>
  verification.checks
    .filter(({ verdict }) => verdict === 'failed' || verdict === 'missing')
    .map((check) => check.id);

function readParts(bytes: Buffer): Map<string, Buffer> {
  const entries = listTar({
    size: bytes.length,
    readAt: (offset, length) => bytes.subarray(offset, offset + length),
  });
  return new Map(
    entries.map((entry) => [
      entry.name,
      Buffer.from(bytes.subarray(entry.offset, entry.offset + entry.size)),
    ]),
  );
}

function writeParts(parts: Map<string, Buffer>): Buffer {
  const pieces = [...parts].flatMap(([name, content]) => [
    encodeTarHeader(name, content.length),
    content,
    paddingOf(content.length),
  ]);
  return Buffer.concat([...pieces, TAR_END]);
}

describe('an export', () => {
  let stage: Stage;
  let bytes: Buffer;
  let trustedKeys: readonly PublicKey[];
  beforeAll(async () => {
    stage = await stageSealedRun();
    const file = join(stage.folder, 'run.tar');
    await exportRun({ ledger: stage.ledger, store: stage.store, runId: STAGE_RUN, to: file });
    bytes = await readFile(file);
    trustedKeys = await stage.keyring.trustedKeys();
  });
  afterAll(() => stage.close());

  const change = async (edit: (parts: Map<string, Buffer>) => unknown): Promise<Verification> => {
    const parts = readParts(bytes);
    await edit(parts);
    return await verifyExport(writeParts(parts), { trustedKeys });
  };
  const changeEvents = (edit: (events: ChainEvent[]) => ChainEvent[]): Promise<Verification> =>
    change((parts) => {
      const events = edit(parseEvents(parts.get('events.ndjson') ?? Buffer.alloc(0)));
      parts.set('events.ndjson', Buffer.from(events.map((event) => `${canonicalJson(event)}\n`).join('')));
    });

  it('is proven with the key alone: no state folder, no network', async () => {
    const file = join(stage.folder, 'alone.tar');
    await writeFile(file, bytes);
    const verification = await verifyExport(file, { trustedKeys });
    expect(verification.outcome).toBe('ok');
    expect(verification.checks.map((check) => [check.id, check.verdict])).toEqual([
      ['container', 'ok'],
      ['envelope', 'ok'],
      ['statement', 'ok'],
      ['run-id', 'ok'],
      ['public-key', 'ok'],
      ['signature', 'ok'],
      ['key', 'ok'],
      ['manifest', 'ok'],
      ['event-chain', 'ok'],
      ['event-count', 'ok'],
      ['merkle-root', 'ok'],
      ['result', 'ok'],
      ['artefact:patch', 'ok'],
      ['artefact:outputs/report.txt', 'ok'],
      ['parts', 'ok'],
    ]);
  });

  it('fails for every single byte that is flipped, and says in which part', async () => {
    const parts = listTar({
      size: bytes.length,
      readAt: (offset, length) => bytes.subarray(offset, offset + length),
    });
    const blamed: Record<string, RegExp> = {
      'caisson-export.json': /^(run-id)$/,
      'envelope.json': /^(envelope|statement|signature|key|public-key)$/,
      'public-key.pem': /^public-key$/,
      'manifest.json': /^manifest$/,
      'result.json': /^result$/,
      'events.ndjson': /^event-chain$/,
    };
    for (let position = 0; position < bytes.length; position += 1) {
      const changed = Buffer.from(bytes);
      changed[position] = (changed[position] ?? 0) ^ (1 << (position % 8));
      const verification = await verifyExport(changed, { trustedKeys });
      const failed = failedIds(verification);
      expect(failed, `byte ${position}`).not.toEqual([]);
      expect(verification.outcome, `byte ${position}`).not.toBe('ok');
      const part = parts.find((entry) => position >= entry.offset && position < entry.offset + entry.size);
      const expected = part === undefined ? /^container$/ : (blamed[part.name] ?? /^artefact:/);
      expect(
        failed.some((id) => expected.test(id)),
        `byte ${position} of ${part?.name ?? 'container'}: ${failed.join()}`,
      ).toBe(true);
    }
  }, 120_000);

  it('fails at every length that it is cut to', async () => {
    for (let length = 0; length < bytes.length; length += 97) {
      const verification = await verifyExport(bytes.subarray(0, length), { trustedKeys });
      expect(verification).toMatchObject({
        outcome: 'incomplete',
        checks: [{ id: 'container', verdict: 'missing' }],
      });
    }
    const longer = await verifyExport(Buffer.concat([bytes, Buffer.alloc(512)]), { trustedKeys });
    expect(failedIds(longer)).toEqual(['container']);
  });

  it('names a deleted, moved, doubled or missing last event', async () => {
    const deleted = await changeEvents((events) => events.toSpliced(2, 1));
    expect(deleted.outcome).toBe('tampered');
    expect(failedIds(deleted)).toContain('event-chain');
    const moved = await changeEvents((events) =>
      events.with(2, events[3] as ChainEvent).with(3, events[2] as ChainEvent),
    );
    expect(failedIds(moved)).toContain('event-chain');
    const doubled = await changeEvents((events) => events.toSpliced(2, 0, events[2] as ChainEvent));
    expect(failedIds(doubled)).toContain('event-chain');
    const cut = await changeEvents((events) => events.slice(0, -1));
    expect(cut.outcome).toBe('tampered');
    expect(failedIds(cut)).toEqual(['event-count', 'merkle-root']);
    const none = await changeEvents(() => []);
    expect(failedIds(none)).toEqual(['event-count', 'merkle-root']);
  });

  it('is not fooled by a chain that was forged all the way', async () => {
    const forged = await changeEvents((events) => {
      let prevHash = '0'.repeat(64);
      return events.map((event) => {
        const data = event.type === 'warning' ? { ...event.data, message: 'nothing happened' } : event.data;
        const next = { ...event, data, prevHash };
        prevHash = hashEvent({ ...next });
        return { ...next, hash: prevHash };
      });
    });
    expect(forged.outcome).toBe('tampered');
    expect(failedIds(forged)).toEqual(['merkle-root']);
  });

  it('gives three answers to a forged manifest, a bad signature and a missing key', async () => {
    const forged = await change((parts) => {
      const manifest = createStageManifest();
      parts.set('manifest.json', encodeManifest({ ...manifest, model: { requested: 'another' } }).bytes);
    });
    expect([forged.outcome, failedIds(forged)]).toEqual(['tampered', ['manifest']]);
    const unsigned = await change((parts) => {
      const envelope = JSON.parse(String(parts.get('envelope.json')));
      envelope.signatures[0].sig = Buffer.alloc(64, 1).toString('base64');
      parts.set('envelope.json', encodeEnvelope(envelope));
    });
    expect([unsigned.outcome, failedIds(unsigned)]).toEqual(['bad-signature', ['signature']]);
    const keyless = await verifyExport(bytes, { trustedKeys: [] });
    expect([keyless.outcome, failedIds(keyless)]).toEqual(['no-key', ['key']]);
    const stranger = describePublicKey(generateKeyPairSync('ed25519').publicKey, 'test');
    const distrusted = await verifyExport(bytes, { trustedKeys: [stranger] });
    expect([distrusted.outcome, failedIds(distrusted)]).toEqual(['no-key', ['key']]);
  });

  it('does not trust a statement that another person signed, with their own key or in the name of ours', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const theirs = {
      ...describePublicKey(publicKey, 'test'),
      sign: (data: Uint8Array) => Promise.resolve(sign(null, data, privateKey)),
    };
    const own = trustedKeys[0] as PublicKey;
    const resign = (keyId: string) => async (parts: Map<string, Buffer>) => {
      const payload = Buffer.from(JSON.parse(String(parts.get('envelope.json'))).payload, 'base64');
      const text = payload.toString().replace(JSON.stringify(own.pem), JSON.stringify(theirs.pem));
      parts.set('envelope.json', encodeEnvelope(await signEnvelope(Buffer.from(text), { ...theirs, keyId })));
      parts.set('public-key.pem', Buffer.from(theirs.pem));
    };
    expect((await change(resign(theirs.keyId))).outcome).toBe('no-key');
    expect((await change(resign(own.keyId))).outcome).toBe('bad-signature');
  });

  it('fails for a part that is missing or that is not signed', async () => {
    for (const name of readParts(bytes).keys()) {
      const verification = await change((parts) => parts.delete(name));
      expect(verification.outcome, name).not.toBe('ok');
      expect(
        verification.checks.some((check) => check.detail.includes(name)),
        name,
      ).toBe(true);
    }
    const extra = await change((parts) => parts.set('blobs/extra', Buffer.from('x')));
    expect([extra.outcome, failedIds(extra)]).toEqual(['tampered', ['parts']]);
  });

  it('has the same bytes each time, and any tar can unpack it', async () => {
    const again = join(stage.folder, 'again.tar');
    await exportRun({ ledger: stage.ledger, store: stage.store, runId: STAGE_RUN, to: again });
    expect((await readFile(again)).equals(bytes)).toBe(true);
    const listed = await runBounded({
      file: 'tar',
      args: ['tf', again],
      timeoutMs: 10_000,
      maxOutputBytes: 10_000,
    });
    expect(listed.stdout.toString().split('\n')).toContain('events.ndjson');
    expect((await readdir(stage.folder)).filter((name) => name.startsWith('.caisson-export'))).toEqual([]);
  });

  it('never claims success for bytes that are no export at all', async () => {
    for (const junk of [
      Buffer.alloc(0),
      Buffer.alloc(1024),
      Buffer.from('hello'),
      Buffer.alloc(5000, 0xff),
    ]) {
      expect((await verifyExport(junk, { trustedKeys })).outcome).not.toBe('ok');
    }
  });
});

describe('a sealed run in its state folder', () => {
  it('is proven, also with events that came after the seal', async () => {
    const stage = await stageSealedRun();
    const trustedKeys = await stage.keyring.trustedKeys();
    const verification = await verifyRun(stage.ledger, stage.store, STAGE_RUN, { trustedKeys });
    expect([verification.outcome, failedIds(verification)]).toEqual(['ok', []]);
    expect(verification.checks.find((check) => check.id === 'event-count')?.detail).toBe(
      '7 events were sealed, 1 came later',
    );
    await stage.close();
  });

  it('fails by name when a blob of the store is changed', async () => {
    const stage = await stageSealedRun();
    const trustedKeys = await stage.keyring.trustedKeys();
    const seen = new Set<string>();
    for (const { file, middle } of listStoredBlobs(join(stage.folder, 'store'))) {
      const original = await readFile(file);
      await writeFile(file, original.with(middle, (original[middle] ?? 0) ^ 1));
      const verification = await verifyRun(stage.ledger, stage.store, STAGE_RUN, { trustedKeys });
      for (const id of failedIds(verification)) seen.add(id);
      expect(verification.outcome).not.toBe('ok');
      await writeFile(file, original);
    }
    for (const id of ['manifest', 'result', 'artefact:patch', 'artefact:outputs/report.txt', 'envelope'])
      expect(seen).toContain(id);
    await stage.close();
  });

  it('fails by name when a row of the ledger is changed, removed or cut off', async () => {
    const verifyAfter = async (edit: (file: string) => Promise<void>): Promise<Verification> => {
      const stage = await stageSealedRun();
      await stage.ledger.close();
      const file = join(stage.folder, 'ledger.db');
      await edit(file);
      const trustedKeys = await stage.keyring.trustedKeys();
      const ledger = openLedger(file);
      const verification = await verifyRun(ledger, stage.store, STAGE_RUN, { trustedKeys });
      await ledger.close();
      await stage.close();
      return verification;
    };
    const flip = (text: string) => async (file: string) => {
      const bytes = await readFile(file);
      const at = bytes.indexOf(text);
      expect(at).toBeGreaterThan(0);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(file, bytes);
    };
    for (const text of ['olé 1', '"exitCode":0', '"nonce"']) {
      const verification = await verifyAfter(flip(text));
      expect([text, verification.outcome, failedIds(verification)]).toEqual([
        text,
        'tampered',
        ['event-chain'],
      ]);
    }
    // A process that can write the file can drop its triggers, too.
    const remove = (where: string) => async (file: string) => {
      const database = new Database(file);
      const triggers = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        .pluck()
        .all();
      for (const name of triggers) database.exec(`DROP TRIGGER "${String(name)}"`);
      database.exec(`DELETE FROM events WHERE ${where}`);
      database.close();
    };
    for (const where of ['seq = 4', 'seq >= 7', 'seq = 8', 'seq > 0']) {
      const verification = await verifyAfter(remove(where));
      expect([where, verification.outcome, failedIds(verification)]).toEqual([
        where,
        'tampered',
        ['event-chain'],
      ]);
    }
  });

  it('says so when the run has no result, no seal, or does not exist', async () => {
    const bare = await stageSealedRun({ withResult: false });
    const trustedKeys = await bare.keyring.trustedKeys();
    const verification = await verifyRun(bare.ledger, bare.store, STAGE_RUN, { trustedKeys });
    expect(verification.outcome).toBe('ok');
    expect(verification.checks.find((check) => check.id === 'result')?.verdict).toBe('not-applicable');
    const unknown = 'run_zzzzzzzzzzzzzzzzzzzz';
    expect(await verifyRun(bare.ledger, bare.store, unknown, { trustedKeys })).toMatchObject({
      outcome: 'unsealed',
      checks: [{ id: 'seal', verdict: 'missing' }],
    });
    const to = join(bare.folder, 'none.tar');
    await expect(exportRun({ ...bare, runId: unknown, to })).rejects.toThrow(NotSealedError);
    await bare.close();
  });
});

describe('sealing', () => {
  it('refuses events that are not a whole run, and artefacts that are not in the store', async () => {
    const stage = await stageSealedRun();
    const events = stage.ledger.read({ runId: STAGE_RUN }).slice(0, -1);
    const input = {
      store: stage.store,
      runId: STAGE_RUN,
      events,
      manifest: createStageManifest(),
      resultBytes: null,
      artefacts: [],
    };
    await prepareSeal(input);
    const refusals = [
      { events: events.slice(0, -1) },
      { events: events.slice(1) },
      { events: [] },
      { artefacts: [{ name: 'patch', digest: 'f'.repeat(64), size: 1 }] },
      { manifest: { ...createStageManifest(), runId: 'run_zzzzzzzzzzzzzzzzzzzz' } },
    ];
    for (const change of refusals)
      await expect(prepareSeal({ ...input, ...change })).rejects.toThrow(SealRefusedError);
    await stage.close();
  });

  it('refuses a manifest with a value where a variable name belongs', () => {
    const manifest = createStageManifest();
    expect(() => encodeManifest({ ...manifest, env: { bundles: [], names: ['TOKEN=abc'] } })).toThrow(
      /env.names/,
    );
  });

  it('hands sealed results to a sink once or twice with the same effect', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'caisson-sink-'));
    const sink = createFileSink(join(folder, 'out'));
    const envelope = { payloadType: 'application/vnd.in-toto+json', payload: '', signatures: [] };
    const sealed = {
      runId: STAGE_RUN,
      envelope,
      seal: { envelopeRef: '', manifestRef: '', keyId: '' },
      resultBytes: Buffer.from('{}'),
      artefacts: [],
    };
    await sink.deliver(sealed);
    await sink.deliver(sealed);
    expect((await readdir(join(folder, 'out'))).toSorted()).toEqual([
      `${STAGE_RUN}.envelope.json`,
      `${STAGE_RUN}.result.json`,
    ]);
    await rm(folder, { recursive: true });
  });
});

describe('keys', () => {
  it('makes one key on first use, 0600, also when many processes ask at once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'caisson-keys-'));
    const made = await Promise.all(
      Array.from({ length: 8 }, () => openKeyring(join(folder, 'keys')).getSigningKey()),
    );
    expect(new Set(made.map((key) => key.keyId)).size).toBe(1);
    expect((await stat(join(folder, 'keys/signing-key.pem'))).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'keys'))).toEqual(['signing-key.pem']);
    await rm(folder, { recursive: true });
  });

  it('lists, exports, trusts and distrusts; reading makes no key', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'caisson-keys-'));
    const [ours, theirs] = [openKeyring(join(folder, 'a')), openKeyring(join(folder, 'b'))];
    expect(await ours.trustedKeys()).toEqual([]);
    expect(await ours.list()).toEqual([]);
    const pem = await theirs.exportPublicKey();
    const { keyId } = await ours.trust(pem);
    await ours.trust(pem);
    expect((await ours.list()).map((key) => [key.keyId, key.origin])).toEqual([[keyId, 'trusted']]);
    expect(await ours.exportPublicKey(keyId)).toBe(pem);
    expect([await ours.distrust(keyId), await ours.distrust(keyId)]).toEqual([true, false]);
    await rm(folder, { recursive: true });
  });

  it('refuses a signing key that others can read, and files that are no key', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'caisson-keys-'));
    const keyring = openKeyring(folder);
    await keyring.getSigningKey();
    await chmod(join(folder, 'signing-key.pem'), 0o644);
    await expect(keyring.getSigningKey()).rejects.toThrow(/chmod 600|read by others/);
    await chmod(join(folder, 'signing-key.pem'), 0o600);
    await writeFile(join(folder, 'signing-key.pem'), 'junk');
    await expect(keyring.getSigningKey()).rejects.toThrow(KeyInvalidError);
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
      .publicKey.export({ type: 'spki', format: 'pem' })
      .toString();
    expect(() => parsePublicKey(rsa, 'x')).toThrow(/not Ed25519/);
    await rm(folder, { recursive: true });
  });
});

describe('published formats', () => {
  it('computes the Merkle roots of RFC 6962', () => {
    expect(merkleRoot([])).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    const [a, b, c] = ['00', '11', '22'].map((byte) => byte.repeat(32)) as [string, string, string];
    expect(merkleRoot([a, b, c])).not.toBe(merkleRoot([a, c, b]));
    // Second-preimage safety: an inner node can never be passed off as a leaf.
    expect(merkleRoot([merkleRoot([a, b])])).not.toBe(merkleRoot([a, b]));
  });

  it('encodes what is signed as DSSE says', () => {
    expect(preAuthEncoding('http://example.com/HelloWorld', Buffer.from('hello world')).toString()).toBe(
      'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
    );
  });
});
