import { RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { expect, test } from 'vitest';
import type { DriverInput } from './contract.ts';
import { claudeCode } from './claude-code/driver.ts';
import { codex } from './codex/driver.ts';
import { gemini } from './gemini/driver.ts';
import { native } from './native/driver.ts';
import { opencode } from './opencode/driver.ts';
import { pi } from './pi/driver.ts';

const input: DriverInput = {
  bin: '/bin/agent',
  prompt: 'do it',
  mode: 'auto-edit',
  settings: {},
  endpoint: { baseUrl: 'http://127.0.0.1:1', apiKey: 'placeholder' },
  home: '/home/agent',
  workspace: '/work',
  workspaceTop: '/work',
  isRoot: false,
};

test.each([claudeCode, codex, gemini, native, opencode, pi])(
  '$name sets exactly what its descriptor says it takes, and nothing that its agent did not say',
  (driver) => {
    const reported = JSON.stringify(
      driver.command({ ...input, settings: { maxTokens: 4321, temperature: 0.25 } }),
    );
    const taken = [
      ...(reported.includes('4321') ? ['maxTokens'] : []),
      ...(reported.includes('0.25') ? ['temperature'] : []),
    ];
    expect(taken).toEqual(RUNTIME_DESCRIPTORS[driver.name]?.sampling);
    expect(JSON.stringify(driver.command(input))).not.toMatch(
      /"temperature":\d|MAX_OUTPUT_TOKENS|customOverrides/,
    );
  },
);
