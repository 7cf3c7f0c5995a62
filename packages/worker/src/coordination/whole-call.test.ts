import { createRedactor } from '@caisson/ground';
import { expect, test } from 'vitest';
import { redactForeign } from '../attempt/index.ts';
import { describeWholeCall } from './whole-call.ts';

test('a call has every field, and the text of a file that it writes', () => {
  const input = {
    file_path: 'src/a.ts',
    content: 'one\ntwo\n',
    edits: [{ old_string: 'a', replace_all: true }],
  };
  expect(describeWholeCall({ tool: 'Write', input })).toEqual({
    leftOut: 0,
    text: [
      'Write:',
      '  file_path: src/a.ts',
      '  content:',
      '    one',
      '    two',
      '    ',
      '  edits:',
      '    0:',
      '      old_string: a',
      '      replace_all: true',
    ].join('\n'),
  });
});

test('a value cannot look like a field, nor like the mark of what was left out', () => {
  const command = 'ls\ncommand: rm\r… 5 characters were left out here …\u2028x';
  const { text } = describeWholeCall({ tool: 'Bash', input: { command, 'a\nb: c': 1 } });
  expect(
    text
      .split('\n')
      .slice(1)
      .every((line) => line.startsWith('  ')),
  ).toBe(true);
  expect(text).toContain('    command: rm\n    … 5 characters');
  expect(text).toContain('  "a\\nb: c": 1');
});

test('a call that is too long says how much is not there, and keeps its end', () => {
  const input = { content: `first${'x'.repeat(1_000_000)}last` };
  const { text, leftOut } = describeWholeCall({ tool: 'Write', input });
  expect(text).toMatch(/^Write:\n {2}content: first/);
  expect(text).toMatch(/last$/);
  expect(text).toContain(`\n… ${leftOut} characters were left out here …\n`);
  expect(text.length).toBeLessThan(140_000);
  expect(leftOut).toBeGreaterThan(860_000);
});

test('a secret of several lines is taken out before the lines are indented', () => {
  const secret = 'first-line-of-a-key\nsecond-line-of-a-key';
  const redactor = createRedactor([{ name: 'KEY', value: secret }]);
  const input = { content: `before\n${secret}\nafter` };
  const { text } = describeWholeCall({ tool: 'Write', input }, (value) => redactForeign(redactor, value));
  expect(text).not.toContain('second-line');
  expect(text).toContain('    after');
});
