/** The vectors that are made from one good export: what is changed in each, and which checks must fail. */
import type { SigningKey } from '../../packages/engine/src/evidence/contract.ts';
import { STAGE_RUN } from '../../packages/engine/src/evidence/evidence-stage.ts';
import { containers } from './container-cases.ts';
import {
  editBlob,
  editLines,
  nextLine,
  partOf,
  resign,
  signAs,
  signOther,
  swap,
  type Case,
} from './edits.ts';

const OTHER_RUN = 'run_zzzzzzzzzzzzzzzzzzzz';
const UNREADABLE = ['envelope', 'statement', 'signature', 'key'];
const BROKEN_CHAIN = ['event-chain', 'event-count', 'merkle-root'];

const envelopes = (own: SigningKey, stranger: SigningKey): Record<string, Case> => ({
  'bad-no-envelope': {
    about: 'The envelope is missing.',
    isOnlyMissing: true,
    failed: UNREADABLE,
    edit: (parts) => void parts.delete('envelope.json'),
  },
  'bad-envelope-blank': {
    about: 'A blank in the envelope.',
    failed: UNREADABLE,
    edit: swap('envelope.json', ',', ', '),
  },
  'bad-envelope-base64': {
    about: 'A signature in URL-safe base64.',
    failed: UNREADABLE,
    edit: swap('envelope.json', '=="}', '"}'),
  },
  'bad-envelope-type': {
    about: 'A payload of another type.',
    failed: UNREADABLE,
    edit: swap('envelope.json', 'in-toto+json', 'in-toto+jsom'),
  },
  'bad-two-signatures': {
    about: 'A second signature.',
    failed: UNREADABLE,
    edit: swap('envelope.json', '"signatures":[', `"signatures":[{"keyid":"${own.keyId}","sig":"AAAA"},`),
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
});

const statements = (own: SigningKey): Record<string, Case> => ({
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
});

const events = (): Record<string, Case> => ({
  'bad-event-data': {
    about: 'Changed data of an event.',
    failed: BROKEN_CHAIN,
    edit: swap('events.ndjson', '"exitCode":0', '"exitCode":1'),
  },
  'bad-event-missing': {
    about: 'An event in the middle is missing.',
    failed: BROKEN_CHAIN,
    edit: editLines((lines) => lines.toSpliced(2, 1)),
  },
  'bad-event-order': {
    about: 'Two events have changed places.',
    failed: BROKEN_CHAIN,
    edit: editLines((lines) => [...lines.slice(0, 2), lines[3] ?? '', lines[2] ?? '', ...lines.slice(4)]),
  },
  'bad-event-tail': {
    about: 'The last event is missing.',
    failed: ['event-count', 'merkle-root'],
    edit: editLines((lines) => lines.slice(0, -1)),
  },
  'bad-event-added': {
    about: 'An event that is not signed continues the chain.',
    failed: ['event-count'],
    edit: editLines((lines) => [...lines, nextLine(lines.at(-1) ?? '')]),
  },
  'bad-event-spelling': {
    about: 'The same event in another spelling.',
    failed: BROKEN_CHAIN,
    edit: swap('events.ndjson', '"attempt":0,', '"attempt":0, '),
  },
  'bad-event-not-utf8': {
    about: 'Events that are not UTF-8.',
    failed: BROKEN_CHAIN,
    edit: (parts) =>
      void parts.set('events.ndjson', Buffer.from(partOf(parts, 'events.ndjson').toString('utf8'), 'latin1')),
  },
});

const contents = (own: SigningKey): Record<string, Case> => ({
  'bad-stray-part': {
    about: 'A part that is not signed.',
    failed: ['parts'],
    edit: (parts) => void parts.set('blobs/extra', Buffer.from('x')),
  },
  'bad-no-manifest': {
    about: 'The manifest is missing.',
    isOnlyMissing: true,
    failed: ['manifest'],
    edit: (parts) => void parts.delete('manifest.json'),
  },
  'bad-manifest-byte': {
    about: 'A changed manifest.',
    failed: ['manifest'],
    edit: swap('manifest.json', 'say hello', 'say hullo'),
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
});

/** `own` is the key to believe, and signed the good export. */
export function listCases(own: SigningKey, stranger: SigningKey): Record<string, Case> {
  return {
    ...containers(),
    ...envelopes(own, stranger),
    ...statements(own),
    ...events(),
    ...contents(own),
  };
}
