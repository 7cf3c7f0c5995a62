import { expect, test } from 'vitest';
import { sampleEnvelope as event } from '../../protocol/src/fixtures/sample-events.ts';
import { createApprovalAnnouncer } from './announce-approvals.ts';
import type { OutputFormat } from './output.ts';
import { createStreams, PIPE } from './fixtures/streams.ts';

const asked = event(
  'approval.requested',
  { approvalId: 'approval_1', what: 'Bash: rm -rf old', deadlineAt: '2026-01-01T00:05:00.000Z' },
  { at: '2026-01-01T00:00:00.000Z' },
);

const announced =
  (...events: Parameters<ReturnType<typeof createApprovalAnnouncer>>[0][]) =>
  (format: OutputFormat, stateDir?: string): string => {
    const { output, written } = createStreams(PIPE, format);
    events.forEach(createApprovalAnnouncer(output, stateDir));
    return written.join('');
  };

test.each(['human', 'json', 'ndjson'] as const)(
  'without a terminal it is said at once what waits, how to answer, and what no answer means (%s)',
  (format) => {
    expect(announced(asked)(format)).toBe(
      [
        'waits for your decision: Bash: rm -rf old',
        '  allow it, from another shell in this folder: caisson approve approval_1',
        '  or deny it: caisson deny approval_1',
        '  without an answer it is denied in 5 min 0 s, and the agent goes on without it\n',
      ].join('\n'),
    );
  },
);

test('the answer needs the state folder that the run was given', () => {
  expect(announced(asked)('human', '/a b')).toContain("caisson approve approval_1 --state-dir '/a b'\n");
});

test('how it was decided is said, too', () => {
  const decided = (by: 'user' | 'deadline' | 'ending', decision: 'allow' | 'deny' = 'deny') =>
    announced(asked, event('approval.decided', { approvalId: 'approval_1', decision, by }))('human');
  expect(decided('user', 'allow')).toMatch(/\nallowed: Bash: rm -rf old\n$/);
  expect(decided('user')).toMatch(/\ndenied: Bash: rm -rf old\n$/);
  expect(decided('deadline')).toMatch(/\ndenied, because nobody answered: Bash: rm -rf old\n$/);
  expect(decided('ending')).toMatch(/\nnot decided, because the run ends: Bash: rm -rf old\n$/);
});
