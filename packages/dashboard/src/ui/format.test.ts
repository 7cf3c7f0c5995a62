import { expect, test } from 'vitest';
import { formatAgo, formatBytes, nameFailure } from './format.ts';

test('sizes have the units of the settings', () => {
  expect([0, 1023, 1536, 4 * 1024 ** 3].map(formatBytes)).toEqual(['0 B', '1023 B', '1.5 KiB', '4 GiB']);
});

test('what is near is now, on either side of a clock that is not exact', () => {
  const now = Date.parse('2026-01-01T00:00:10.000Z');
  const at = (second: string) => formatAgo(`2026-01-01T00:00:${second}.000Z`, now);
  expect([at('08'), at('11'), at('40'), at('00')]).toEqual(['now', 'now', 'in 30 s', '10 s ago']);
});

test('a failed command is named by its exit code', () => {
  const failure = { reason: 'provider-failed', detail: 'the command exited with code 3: no' } as const;
  expect(nameFailure({ ...failure, cause: 'exit-code' })).toBe('exit code 3');
  expect(nameFailure({ reason: 'budget-exceeded', detail: '' })).toBe('budget exceeded');
});
