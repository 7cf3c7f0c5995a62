/**
 * Writes the public test vectors of the evidence format into tests/vectors/evidence: exports, the keys to believe, and
 * index.json, which says what each must get. The private keys are made for it and thrown away, so that every call
 * writes other bytes: call it only when the format changes.
 *
 *   node scripts/make-evidence-vectors.ts
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { SigningKey, VerifyOutcome } from '../packages/engine/src/evidence/contract.ts';
import { encodeEnvelope, signEnvelope } from '../packages/engine/src/evidence/dsse.ts';
import { STAGE_RUN, stageSealedRun } from '../packages/engine/src/evidence/evidence-stage.ts';
import { exportRun } from '../packages/engine/src/evidence/export.ts';
import { describePublicKey } from '../packages/engine/src/evidence/public-key.ts';
import { encodeTarHeader, listTar, paddingOf, TAR_END } from '../packages/engine/src/evidence/tar.ts';
import { canonicalJson } from '../packages/engine/src/ledger/index.ts';

const FOLDER = fileURLToPath(new URL('../tests/vectors/evidence', import.meta.url));
const OTHER_RUN = 'run_zzzzzzzzzzzzzzzzzzzz';

interface Vector {
  readonly file: string;
  readonly about: string;
  readonly outcome: VerifyOutcome;
  /** Ids of the checks that must fail, and no others. */
  readonly failed: readonly string[];
}
type Parts = Map<string, Buffer>;
/** What is wrong with it, and how it comes to be: an edit of the parts, or of the bytes as a whole. */
interface Case {
  readonly about: string;
  readonly failed: readonly string[];
  edit?(parts: Parts): void | Promise<void>;
  damage?(bytes: Buffer): Buffer;
}

const keyPair = (): SigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    ...describePublicKey(publicKey, 'vector'),
    sign: (data) => Promise.resolve(sign(null, data, privateKey)),
  };
};
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function readParts(bytes: Buffer): Parts {
  const source = { size: bytes.length, readAt: (at: number, size: number) => bytes.subarray(at, at + size) };
  return new Map(
    listTar(source).map(({ name, offset, size }) => [name, bytes.subarray(offset, offset + size)]),
  );
}

function writeParts(parts: Parts): Buffer {
  const pieces = [...parts].flatMap(([name, content]) => [
    encodeTarHeader(name, content.length),
    content,
    paddingOf(content.length),
  ]);
  return Buffer.concat([...pieces, TAR_END]);
}

const partOf = (parts: Parts, name: string): Buffer => parts.get(name) ?? Buffer.alloc(0);
const swap =
  (name: string, from: string, to: string) =>
  (parts: Parts): void => {
    const text = partOf(parts, name).toString('utf8');
    if (!text.includes(from)) throw new Error(`${from} is not in ${name}`);
    parts.set(name, Buffer.from(text.replace(from, to)));
  };
const editLines =
  (edit: (lines: string[]) => string[]) =>
  (parts: Parts): void => {
    const lines = partOf(parts, 'events.ndjson').toString('utf8').trimEnd().split('\n');
    parts.set(
      'events.ndjson',
      Buffer.from(
        edit(lines)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    );
  };

/** Signs the statement again after an edit of its text: what a signer who errs, or lies, could make. */
const resign =
  (key: SigningKey, from: RegExp | string, to: string) =>
  async (parts: Parts): Promise<void> => {
    const { payload } = JSON.parse(partOf(parts, 'envelope.json').toString('utf8')) as { payload: string };
    const text = Buffer.from(payload, 'base64').toString('utf8');
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`the statement has no ${String(from)}`);
    parts.set('envelope.json', encodeEnvelope(await signEnvelope(Buffer.from(edited), key)));
  };

/** An event that continues the chain of the last one. */
function nextLine(last: string): string {
  const event = JSON.parse(last) as Record<string, unknown> & { seq: number; hash: string };
  const { hash: prevHash, ...rest } = event;
  const next = { ...rest, id: 'later', type: 'warning', data: {}, seq: event.seq + 1, prevHash };
  return canonicalJson({ ...next, hash: sha256(Buffer.from(canonicalJson(next))) });
}

const flip =
  (at: (bytes: Buffer) => number) =>
  (bytes: Buffer): Buffer => {
    const changed = Buffer.from(bytes);
    changed[at(bytes)] = (changed[at(bytes)] ?? 0) ^ 1;
    return changed;
  };

function listCases(own: SigningKey, stranger: SigningKey): Record<string, Case> {
  const inEnvelope = (from: string, to: string) => swap('envelope.json', from, to);
  const unreadable = ['envelope', 'statement', 'signature', 'key'];
  return {
    'good-parts-in-another-order': {
      about: 'The order of the parts means nothing.',
      failed: [],
      edit: reverse,
    },
    'bad-cut-short': {
      about: 'The last 512 bytes are missing.',
      failed: ['container'],
      damage: (bytes) => bytes.subarray(0, -512),
    },
    'bad-byte-at-the-end': {
      about: 'A byte follows the end.',
      failed: ['container'],
      damage: (bytes) => Buffer.concat([bytes, Buffer.from('x')]),
    },
    'bad-tar-time': {
      about: 'The time in a header is not 0.',
      failed: ['container'],
      damage: flip(() => 146),
    },
    'bad-tar-padding': {
      about: 'Padding that is not empty.',
      failed: ['container'],
      damage: flip((bytes) => 512 + bytes.subarray(512).indexOf(0)),
    },
    'bad-empty-file': { about: 'No bytes at all.', failed: ['container'], damage: () => Buffer.alloc(0) },
    'bad-part-twice': {
      about: 'A part is there twice.',
      failed: ['container'],
      damage: (bytes) => Buffer.concat([bytes.subarray(0, 1024), bytes]),
    },
    'bad-stray-part': {
      about: 'A part that nobody signed for.',
      failed: ['parts'],
      edit: (parts) => void parts.set('blobs/extra', Buffer.from('x')),
    },
    'bad-no-manifest': {
      about: 'The manifest is missing.',
      failed: ['manifest'],
      edit: (parts) => void parts.delete('manifest.json'),
    },
    'bad-no-envelope': {
      about: 'The envelope is missing.',
      failed: unreadable,
      edit: (parts) => void parts.delete('envelope.json'),
    },
    'bad-header-format': {
      about: 'An export of a format to come.',
      failed: ['run-id'],
      edit: swap('caisson-export.json', 'export/1', 'export/2'),
    },
    'bad-header-blank': {
      about: 'A blank in the header.',
      failed: ['run-id'],
      edit: swap('caisson-export.json', ',', ', '),
    },
    'bad-header-run': {
      about: 'The header names another run.',
      failed: ['run-id'],
      edit: swap('caisson-export.json', STAGE_RUN, OTHER_RUN),
    },
    'bad-envelope-blank': {
      about: 'A blank in the envelope.',
      failed: unreadable,
      edit: inEnvelope(',', ', '),
    },
    'bad-envelope-base64': {
      about: 'A signature in URL-safe base64.',
      failed: unreadable,
      edit: inEnvelope('=="}', '"}'),
    },
    'bad-envelope-type': {
      about: 'A payload of another type.',
      failed: unreadable,
      edit: inEnvelope('in-toto+json', 'in-toto+jsom'),
    },
    'bad-two-signatures': {
      about: 'A second signature.',
      failed: unreadable,
      edit: inEnvelope('"signatures":[', `"signatures":[{"keyid":"${own.keyId}","sig":"AAAA"},`),
    },
    'bad-signature': { about: 'A signature of other bytes.', failed: ['signature'], edit: signOther(own) },
    'bad-signer-in-our-name': {
      about: 'A stranger signed in the name of the believed key.',
      failed: ['signature'],
      edit: resign({ ...stranger, keyId: own.keyId }, 'auto-edit', 'full-auto'),
    },
    'bad-signer-unknown': {
      about: 'A stranger signed with a key of their own, and says so.',
      failed: ['key'],
      edit: signAs(stranger, own),
    },
    'bad-key-that-came-along': {
      about: 'The key that came along is not the one of the statement.',
      failed: ['public-key'],
      edit: (parts) => void parts.set('public-key.pem', Buffer.from(stranger.pem)),
    },
    'bad-key-line-ends': {
      about: 'The key that came along has other line ends.',
      failed: ['public-key'],
      edit: swap('public-key.pem', '\n', '\r\n'),
    },
    'bad-statement-predicate': {
      about: 'A signed statement of another kind.',
      failed: ['statement'],
      edit: resign(own, 'provenance/v1', 'provenance/v2'),
    },
    'bad-statement-member': {
      about: 'A signed statement with a member that no reader knows.',
      failed: ['statement'],
      edit: resign(own, '{"_type"', '{"_extra":1,"_type"'),
    },
    'bad-statement-chain': {
      about: 'A signed place among the seals that is no number.',
      failed: ['statement'],
      edit: resign(own, /"number":\d+/, '"number":0'),
    },
    'bad-statement-run': {
      about: 'A signed statement about another run.',
      failed: ['run-id', 'manifest', 'event-chain', 'event-count', 'merkle-root'],
      edit: resign(own, `"invocationId":"${STAGE_RUN}"`, `"invocationId":"${OTHER_RUN}"`),
    },
    'bad-manifest-byte': {
      about: 'A changed manifest.',
      failed: ['manifest'],
      edit: swap('manifest.json', 'say hello', 'say hullo'),
    },
    'bad-event-data': {
      about: 'Changed data of an event.',
      failed: ['event-chain', 'event-count', 'merkle-root'],
      edit: swap('events.ndjson', '"exitCode":0', '"exitCode":1'),
    },
    'bad-event-missing': {
      about: 'An event in the middle is missing.',
      failed: ['event-chain', 'event-count', 'merkle-root'],
      edit: editLines((lines) => lines.toSpliced(2, 1)),
    },
    'bad-event-order': {
      about: 'Two events have changed places.',
      failed: ['event-chain', 'event-count', 'merkle-root'],
      edit: editLines((lines) => [...lines.slice(0, 2), lines[3] ?? '', lines[2] ?? '', ...lines.slice(4)]),
    },
    'bad-event-tail': {
      about: 'The last event is missing.',
      failed: ['event-count', 'merkle-root'],
      edit: editLines((lines) => lines.slice(0, -1)),
    },
    'bad-event-added': {
      about: 'An event that nobody signed for continues the chain.',
      failed: ['event-count'],
      edit: editLines((lines) => [...lines, nextLine(lines.at(-1) ?? '')]),
    },
    'bad-event-spelling': {
      about: 'The same event in another spelling.',
      failed: ['event-chain', 'event-count', 'merkle-root'],
      edit: swap('events.ndjson', '"attempt":0,', '"attempt":0, '),
    },
    'bad-event-not-utf8': {
      about: 'Events that are not UTF-8.',
      failed: ['event-chain', 'event-count', 'merkle-root'],
      edit: (parts) =>
        void parts.set(
          'events.ndjson',
          Buffer.from(partOf(parts, 'events.ndjson').toString('utf8'), 'latin1'),
        ),
    },
    'bad-root': {
      about: 'A signed root that is not that of the events.',
      failed: ['merkle-root'],
      edit: resign(own, /"merkleRoot":"[0-9a-f]{64}"/, `"merkleRoot":"${'0'.repeat(64)}"`),
    },
    'bad-head': {
      about: 'A signed head that is not the last event.',
      failed: ['merkle-root'],
      edit: resign(own, /"head":"[0-9a-f]{64}"/, `"head":"${'0'.repeat(64)}"`),
    },
    'bad-count': {
      about: 'Fewer events are signed for than are there.',
      failed: ['event-count', 'merkle-root'],
      edit: resign(own, '"count":7', '"count":6'),
    },
    'bad-result-byte': {
      about: 'A changed result.',
      failed: ['result'],
      edit: swap('result.json', 'finished', 'finishe!'),
    },
    'bad-result-digest': {
      about: 'A signed result that the ending does not name.',
      failed: ['result'],
      edit: resign(
        own,
        /("digest":\{"sha256":")[0-9a-f]{64}("\},"name":"result\.json")/,
        `$1${'0'.repeat(64)}$2`,
      ),
    },
    'bad-artefact-byte': {
      about: 'A changed artefact.',
      failed: ['artefact:patch'],
      edit: editBlob('diff --git', 'diff --gut'),
    },
    'bad-artefact-size': {
      about: 'A signed size that the artefact does not have.',
      failed: ['artefact:outputs/report.txt'],
      edit: resign(own, '"size":700', '"size":701'),
    },
  };
}

function reverse(parts: Parts): void {
  const entries = [...parts].reverse();
  parts.clear();
  for (const [name, content] of entries) parts.set(name, content);
}

const signOther =
  (key: SigningKey) =>
  async (parts: Parts): Promise<void> => {
    const envelope = JSON.parse(partOf(parts, 'envelope.json').toString('utf8')) as { payload: string };
    const other = await signEnvelope(Buffer.from('other bytes'), key);
    parts.set('envelope.json', encodeEnvelope({ ...other, payload: envelope.payload }));
  };

const signAs =
  (signer: SigningKey, own: SigningKey) =>
  async (parts: Parts): Promise<void> => {
    await resign(signer, JSON.stringify(own.pem), JSON.stringify(signer.pem))(parts);
    parts.set('public-key.pem', Buffer.from(signer.pem));
  };

const editBlob =
  (from: string, to: string) =>
  (parts: Parts): void => {
    for (const [name, content] of parts)
      if (name.startsWith('blobs/') && content.includes(from)) swap(name, from, to)(parts);
  };

function outcomeOf(failed: readonly string[]): VerifyOutcome {
  if (failed.includes('signature')) return 'bad-signature';
  if (failed.some((id) => id !== 'key')) return 'integrity-failed';
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
const write = (name: string, bytes: Buffer, about: string, failed: readonly string[]): void => {
  writeFileSync(join(FOLDER, `${name}.tar`), bytes);
  vectors.push({ file: `${name}.tar`, about, outcome: outcomeOf(failed), failed });
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
for (const [name, { about, failed, edit, damage }] of Object.entries(listCases(own, keyPair()))) {
  const parts = readParts(base);
  await edit?.(parts);
  write(name, damage === undefined ? writeParts(parts) : damage(base), about, failed);
}
writeFileSync(join(FOLDER, 'key.pem'), own.pem);
writeFileSync(join(FOLDER, 'index.json'), `${JSON.stringify({ key: 'key.pem', vectors }, null, 2)}\n`);
process.stdout.write(`${vectors.length} vectors in ${FOLDER}\n`);
