// A second verifier of Caisson's exports, written from docs/evidence-format.md alone: it shares no code with
// Caisson and needs nothing but Node 20 or newer, so that a stranger can read all of it before believing it.
//   node verify-evidence.mjs PROOF.tar PUBLIC-KEY.pem...
// Ends with 0 (as it was signed, by one of the keys), 6 (something was changed), 7 (the statement is not what the key
// signed), 8 (all agrees, but the key is none of the given ones) or 10 (something is missing, and the rest agrees).
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const EXIT = { ok: 0, tampered: 6, 'bad-signature': 7, 'no-key': 8, incomplete: 10 };
const ENDINGS = ['finished', 'failed', 'cancelled', 'needs_input'].map((name) => `dispatch.${name}`);
const FIXED_PARTS = 'caisson-export.json envelope.json public-key.pem manifest.json events.ndjson'.split(' ');
const TYPE = 'application/vnd.in-toto+json';
const EVENT_KEYS = 'at,attempt,data,hash,id,prevHash,runId,seq,trace,type,version';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const isDigest = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const hasOnly = (value, keys) => isObject(value) && Object.keys(value).sort().join() === keys;
const isEmpty = (bytes) => !bytes.some((byte) => byte !== 0);
const parse = (bytes) => JSON.parse(bytes.toString('utf8'));

function must(isTrue, complaint, isMissing = false) {
  if (!isTrue) throw Object.assign(new Error(complaint), { isMissing });
}

/** Members sorted by UTF-16 code units, no blanks: the only spelling of a value. */
function canonical(value, depth = 0) {
  must(depth < 64, 'nested too deeply');
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`).join(',')}}`;
}

/** A ustar archive in which every byte follows from names, sizes and contents. */
function readTar(bytes) {
  const parts = new Map();
  let at = 0;
  for (let header = bytes.subarray(0, 512); !isEmpty(header); header = bytes.subarray(at, at + 512)) {
    must(/^[a-z0-9./-]*(\0|$)/.test(header.toString('latin1')), 'a header is damaged');
    must(header.length === 512, 'cut short', true);
    const name = header.toString('latin1', 0, header.indexOf(0));
    const digits = header.toString('latin1', 124, 135);
    must(/^[a-z0-9./-]{1,99}$/.test(name) && /^[0-7]{11}$/.test(digits), 'a header is damaged');
    must(header.equals(tarHeader(name, digits)) && !parts.has(name), `the header of ${name} is not ours`);
    const end = at + 512 + Number.parseInt(digits, 8);
    const next = Math.ceil(end / 512) * 512;
    must(next <= bytes.length, `${name} is cut short`, true);
    must(isEmpty(bytes.subarray(end, next)), `${name} does not end as it should`);
    parts.set(name, bytes.subarray(at + 512, end));
    at = next;
  }
  must(bytes.length - at <= 1024 && isEmpty(bytes.subarray(at)), 'the end of the container is damaged');
  must(bytes.length - at === 1024, 'the end of the container is cut short', true);
  return parts;
}

function tarHeader(name, digits) {
  const header = Buffer.alloc(512);
  const fixed = { 100: '0000644', 108: '0000000', 116: '0000000', 136: '00000000000', 148: '        0' };
  const fields = { ...fixed, 0: name, 124: digits, 257: 'ustar\x0000' };
  for (const [offset, text] of Object.entries(fields)) header.write(text, Number(offset), 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

function readKey(pem) {
  const key = createPublicKey(pem);
  must(key.asymmetricKeyType === 'ed25519' && !pem.includes('PRIVATE'), 'not an Ed25519 public key');
  const id = sha256(Buffer.from(key.export({ format: 'jwk' }).x, 'base64url'));
  return { id, key, pem: key.export({ type: 'spki', format: 'pem' }) };
}

function readEnvelope(bytes) {
  const found = parse(bytes);
  must(hasOnly(found, 'payload,payloadType,signatures') && found.payloadType === TYPE, 'not a DSSE envelope');
  const [{ keyid, sig }] = found.signatures;
  const [payload, signature] = [found.payload, sig].map((text) => Buffer.from(text, 'base64'));
  const signatures = [{ keyid, sig: signature.toString('base64') }];
  const again = canonical({ payload: payload.toString('base64'), payloadType: TYPE, signatures });
  must(isDigest(keyid) && Buffer.from(again).equals(bytes), 'the envelope is not in canonical form');
  return { payload, signature, keyId: keyid };
}

function readStatement(payload) {
  const { _type, predicateType, subject, predicate, ...rest } = parse(payload);
  const { buildType, internalParameters } = predicate.buildDefinition;
  const { manifest, events, artefacts, publicKey, chain } = internalParameters;
  must(_type === 'https://in-toto.io/Statement/v1' && Object.keys(rest).length === 0, 'not a statement');
  must(predicateType === 'https://slsa.dev/provenance/v1' && buildType === 'urn:caisson:run:v1', 'not a run');
  must(hasOnly(events, 'count,head,merkleRoot') && Number.isInteger(events.count), 'no events');
  must(!artefacts.some((one) => !hasOnly(one, 'digest,name,size')), 'no artefacts');
  must(chain === undefined || (hasOnly(chain, 'ledger,number,previous') && chain.number > 0), 'no chain');
  const digests = [manifest.sha256, events.head, events.merkleRoot, ...artefacts.map(({ digest }) => digest)];
  digests.push(...subject.map((one) => one.digest.sha256), chain?.previous ?? manifest.sha256);
  must(subject.length > 0 && digests.every(isDigest), 'something has no digest');
  const runId = predicate.runDetails.metadata.invocationId;
  const result = subject.find((one) => one.name === 'result.json')?.digest.sha256 ?? null;
  return { runId, manifest: manifest.sha256, events, artefacts, publicKey, result };
}

/** Every event carries the hash of its other members, one of which is the hash of the event before it. */
function readEvents(bytes, runId) {
  const lines = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).split('\n');
  must(lines.pop() === '', 'the events end in the middle of a line');
  let before = '0'.repeat(64);
  return lines.map((line, index) => {
    const event = JSON.parse(line);
    const at = `event ${index + 1}`;
    must(hasOnly(event, EVENT_KEYS) && canonical(event) === line, `${at} is not in canonical form`);
    const { hash, ...rest } = event;
    must(event.seq === index + 1 && event.runId === runId, `${at} is out of place`);
    must(event.prevHash === before, `${at} does not follow the one before it`);
    must(sha256(canonical(rest)) === hash, `${at} does not have its hash`);
    before = hash;
    return event;
  });
}

/** RFC 6962, section 2.1, over the hashes as bytes. */
function merkle(leaves) {
  if (leaves.length === 1) return sha256(Buffer.concat([Buffer.of(0), Buffer.from(leaves[0], 'hex')]));
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const halves = [merkle(leaves.slice(0, split)), merkle(leaves.slice(split))];
  return sha256(Buffer.concat([Buffer.of(1), ...halves.map((half) => Buffer.from(half, 'hex'))]));
}

/** Runs every check: one that fails never hides another. */
function verifyExport(bytes, trusted) {
  const failed = [];
  const check = (id, work) => {
    try {
      return work();
    } catch (error) {
      failed.push({ id, detail: error.message, isMissing: error.isMissing === true });
      return null;
    }
  };
  const parts = check('container', () => readTar(bytes));
  if (parts === null) return { outcome: outcomeOf(failed), failed };
  const part = (name) => parts.get(name) ?? must(false, `${name} is missing`, true);
  const envelope = check('envelope', () => readEnvelope(part('envelope.json')));
  const said = check('statement', () => part('envelope.json') && readStatement(envelope.payload));
  check('run-id', () => {
    const { runId } = parse(part('caisson-export.json'));
    const header = Buffer.from(`${canonical({ format: 'caisson/export/1', runId })}\n`);
    must(/^run_[0-9a-z]{20}$/.test(runId) && part('caisson-export.json').equals(header), 'not this format');
    must(said === null || said.runId === runId, 'the statement is about another run');
  });
  check('public-key', () => {
    const pem = part('public-key.pem').toString('latin1');
    must(readKey(pem).pem === pem && pem === (said?.publicKey ?? pem), 'not the key of the statement');
  });
  check('signature', () => {
    const { payload, signature, keyId } = part('envelope.json') && envelope;
    const { id, key } = trusted.find((one) => one.id === keyId) ?? readKey(said.publicKey);
    const signed = Buffer.concat([Buffer.from(`DSSEv1 ${TYPE.length} ${TYPE} ${payload.length} `), payload]);
    must(id === keyId && verify(null, signed, key, signature), 'the key did not sign this');
  });
  check('key', () => {
    const { keyId } = part('envelope.json') && envelope;
    must(!trusted.every(({ id }) => id !== keyId), 'no given key signed');
  });
  if (said !== null) checkParts(said, parts, part, check);
  return { outcome: outcomeOf(failed), failed };
}

/** The worst of what was found. */
function outcomeOf(failed) {
  const wrong = failed.filter(({ isMissing }) => !isMissing).map(({ id }) => id);
  if (wrong.includes('signature')) return 'bad-signature';
  if (wrong.some((id) => id !== 'key')) return 'tampered';
  if (failed.length > wrong.length) return 'incomplete';
  return wrong.length > 0 ? 'no-key' : 'ok';
}

/** Everything that the signed statement speaks of, and nothing else, is there. */
function checkParts(said, parts, part, check) {
  const hashes = (name, digest) => must(sha256(part(name)) === digest, `${name} does not have its digest`);
  check('manifest', () => {
    hashes('manifest.json', said.manifest);
    must(parse(part('manifest.json')).runId === said.runId, 'the manifest is of another run');
  });
  const events = check('event-chain', () => readEvents(part('events.ndjson'), said.runId));
  const sealed = events?.slice(0, said.events.count);
  const allEvents = () => {
    part('events.ndjson');
    return events;
  };
  check('event-count', () => must(allEvents().length === said.events.count, 'other events than were sealed'));
  check('merkle-root', () => {
    allEvents();
    const { hash, type } = sealed.at(-1);
    must(merkle(sealed.map((event) => event.hash)) === said.events.merkleRoot, 'the root is another one');
    must(hash === said.events.head && ENDINGS.includes(type), 'the last event is not the sealed ending');
  });
  check('result', () => {
    const recorded = sealed?.[said.events.count - 1]?.data.resultRef ?? said.result;
    must(recorded === said.result, 'the ending names another result');
    if (said.result !== null) hashes('result.json', said.result);
  });
  for (const { name, digest, size } of said.artefacts) {
    check(`artefact:${name}`, () => hashes(`blobs/${digest}`, digest));
    check(`artefact:${name}`, () => must(part(`blobs/${digest}`).length === size, 'of another size'));
  }
  const blobs = said.artefacts.map(({ digest }) => `blobs/${digest}`);
  const signed = new Set([...FIXED_PARTS, ...blobs, ...(said.result === null ? [] : ['result.json'])]);
  const strays = [...parts.keys()].filter((name) => !signed.has(name));
  check('parts', () => must(strays.length === 0, `not signed: ${strays.join(', ')}`));
}

const [file, ...keyFiles] = process.argv.slice(2);
const keys = keyFiles.map((name) => readKey(readFileSync(name, 'latin1')));
const verdict = verifyExport(readFileSync(file), keys);
process.stdout.write(`${JSON.stringify(verdict, null, 2)}\n`);
process.exitCode = EXIT[verdict.outcome];
