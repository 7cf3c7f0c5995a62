import { expect, test } from 'vitest';
import { findDriver } from '../index.ts';
import { createAcpDriver } from './driver.ts';
import type { DriverInput } from '../contract.ts';
import { describeDriver } from '../driver-conformance.ts';

const acp = createAcpDriver(findDriver);

// Gemini is behind the recordings: over ACP it reports neither refusals nor failed commands nor cached tokens. It asks
// again after an empty answer and counts only the last one.
describeDriver(acp, {
  refusal: 'empty-answer',
  hidesFailedCommands: true,
  countsCacheAsInput: true,
  skipUsageOf: ['refusal', 'empty'],
});

const INPUT: DriverInput = {
  bin: '/opt/bin/some-agent',
  prompt: 'p',
  mode: 'auto-edit',
  settings: {},
  endpoint: { baseUrl: 'http://127.0.0.1:4000', apiKey: 'placeholder' },
  home: '/home/agent',
  workspace: '/workspace',
  workspaceTop: '/workspace',
  isRoot: false,
};

const configOf = (input: Partial<DriverInput>): { agent: { args: string[] }; fs: boolean } => {
  const { files } = acp.command({ ...INPUT, ...input });
  return JSON.parse(files.find(({ path }) => path.endsWith('/acp.json'))?.content ?? '{}');
};

test('a program that is known gets the arguments that make it speak ACP; settings.args replace them', () => {
  expect(configOf({ bin: '/opt/bin/opencode' }).agent.args).toEqual(['acp']);
  expect(configOf({ bin: '/opt/bin/gemini' }).agent.args).toContain('--acp');
  expect(configOf({ bin: '/opt/bin/gemini', settings: { args: ['--old'] } }).agent.args).toEqual(['--old']);
});

test('a program that is known is set to ask, whatever the mode', () => {
  const { env } = acp.command({ ...INPUT, bin: '/opt/bin/opencode', mode: 'full-auto' });
  expect(JSON.parse(env['OPENCODE_PERMISSION'] ?? '{}')).toMatchObject({ edit: 'ask', bash: 'ask' });
});

test('any other program gets endpoint, key and model in the variables that the settings name', () => {
  const settings = {
    env: { BASE: '{endpoint}/v1', KEY: '{key}', MODEL: '{model}', PLAIN: 'x', WRONG: 7 },
  };
  expect(acp.command({ ...INPUT, settings }).env).toEqual({
    BASE: 'http://127.0.0.1:4000/v1',
    KEY: 'placeholder',
    PLAIN: 'x',
  });
});

test('file access through the client is offered only when the settings ask for it', () => {
  expect(configOf({}).fs).toBe(false);
  expect(configOf({ settings: { fs: true } }).fs).toBe(true);
});
