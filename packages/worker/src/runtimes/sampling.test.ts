import { BUILT_IN_RUNTIMES, RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { findDriver, type DriverInput } from './index.ts';

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

/** What ACP and plain commands take is that of the program behind them. */
const DRIVERS = BUILT_IN_RUNTIMES.filter((name) => name !== 'acp' && name !== 'command').flatMap(
  (name) => findDriver(name) ?? [],
);

test.each(DRIVERS)(
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
