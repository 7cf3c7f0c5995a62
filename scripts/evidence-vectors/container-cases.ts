/** Vectors whose container is changed. */
import { flip, reverse, type Case } from './edits.ts';

export const containers = (): Record<string, Case> => ({
  'good-parts-in-another-order': {
    about: 'The order of the parts means nothing.',
    failed: [],
    edit: reverse,
  },
  'bad-cut-short': {
    about: 'The last 512 bytes are missing.',
    isOnlyMissing: true,
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
  'bad-empty-file': {
    about: 'No bytes at all.',
    isOnlyMissing: true,
    failed: ['container'],
    damage: () => Buffer.alloc(0),
  },
  'bad-part-twice': {
    about: 'A part is there twice.',
    failed: ['container'],
    damage: (bytes) => Buffer.concat([bytes.subarray(0, 1024), bytes]),
  },
});
