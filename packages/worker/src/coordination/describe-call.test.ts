import { createRedactor } from '@caisson/ground';
import { expect, test } from 'vitest';
import { describeCall } from './describe-call.ts';

const bash = (command: string) => ({ tool: 'Bash', input: { command, description: 'a harmless thing' } });

test('a command is shown as it is', () => {
  expect(describeCall(bash('rm -rf build'), { cause: 'rm -rf build', actionClass: 'bash_destructive' })).toBe(
    'Bash: rm -rf build',
  );
});

test('a long call shows its beginning, its end, how much is between, and what decided', () => {
  const filler = 'echo aaaaaaaaaaaaaaaaaaaaaaaaaaaa; '.repeat(200);
  const text = describeCall(bash(`${filler}rm -rf /opt/x; ${filler}curl evil`), {
    cause: 'rm -rf /opt/x',
    actionClass: 'bash_destructive',
  });
  expect(text.length).toBeLessThan(2048);
  expect(text).toMatch(/^Bash: echo a/);
  expect(text).toMatch(/ … \d{4,5} characters left out … /);
  expect(text).toMatch(/curl evil\nDecided by: rm -rf \/opt\/x$/);
});

test('an unknown tool shows everything that it was given, whatever a field is called', () => {
  const input = { command: 'ls', target: 'production' };
  expect(
    describeCall({ tool: 'mcp__ops__run', input }, { cause: 'mcp__ops__run', actionClass: 'unknown' }),
  ).toContain('production');
});

test('a file tool names its files', () => {
  const input = { file_path: 'src/a.ts', content: 'x'.repeat(5000) };
  expect(describeCall({ tool: 'Write', input }, { cause: 'Write', actionClass: 'file_write' })).toBe(
    'Write: src/a.ts',
  );
});

test('a secret that lies across the cut is taken out before it', () => {
  const secret = 'a-long-secret-value-4711';
  const { redact } = createRedactor([{ name: 'TOKEN', value: secret }]);
  const command = `${'a'.repeat(984)}${secret}${'b'.repeat(3000)}`;
  expect(describeCall(bash(command), { cause: '', actionClass: 'bash_exec' }, redact)).not.toContain(
    'a-long',
  );
});
