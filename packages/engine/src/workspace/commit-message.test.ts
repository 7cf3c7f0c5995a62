import { expect, test } from 'vitest';
import { messageOf, titleOf } from './commit-message.ts';

test.each([
  ['Fix the log-in', 'Fix the log-in'],
  ['\n\n  Fix the log-in  \nand all that', 'Fix the log-in'],
  ['Fix\u001b[31m it\u202e\u0007now', 'Fix [31m it now'],
  ['Fix\u2028Signed-off-by: x', 'Fix'],
  ['x'.repeat(73), `${'x'.repeat(71)}…`],
  ['\u{1f600}'.repeat(72), '\u{1f600}'.repeat(72)],
  [' \u0000\n', undefined],
])('the title for %j is %j', (task, title) => {
  expect(titleOf(task)).toBe(title);
});

test('the run is in the body, or the title where the task has none', () => {
  const made = { runId: 'run_1', attempt: 2 };
  expect(messageOf({ ...made, title: 'Fix it' })).toBe('Fix it\n\ncaisson: run_1, attempt 2\n');
  expect(messageOf(made)).toBe('caisson: run_1, attempt 2\n');
});
