import { expect, test } from 'vitest';
import { maskSettings } from './project-settings.ts';

const masked = (runtime: string | undefined): string[] =>
  maskSettings({ workspace: '/w/sub', workspaceTop: '/w' }, runtime).map(({ path }) => path);

test('a known program is not shown its own settings, here and above', () => {
  expect(masked('codex')).toEqual(['/w/.codex', '/w/sub/.codex']);
});

test.each(['herron', 'constructor', 'acp', undefined])(
  'all known settings are hidden where it is unknown what the program reads: %s',
  (runtime) => {
    expect(masked(runtime)).toEqual(
      expect.arrayContaining(['/w/.claude', '/w/.codex', '/w/.gemini', '/w/.qwen']),
    );
  },
);
