// The promises that every driver keeps, tested on streams recorded from the real programs
// (tests/agents/record-streams.ts) and on streams that no program would print.

import { RUNTIME_DESCRIPTORS, type AgentCause, type Mode } from '@caisson/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentEnding, AgentExit, DriverInput, RuntimeDriver, UsageCount } from './contract.ts';
import { eventTypes, feed, recordedLines, replay, toolOutcomes, usageIn } from './recorded-streams.ts';

/** Where a program cannot report what the suite expects; each is worth a line in the docs. */
export interface Quirks {
  readonly refusal?: AgentCause;
  /** Its stream reports a failed command as a success. */
  readonly hidesFailedCommands?: boolean;
  /** Requests that failed half-way leave tokens that the server did not charge. */
  readonly skipUsageOf?: readonly string[];
  /** It adds what was read from the cache to the input. */
  readonly countsCacheAsInput?: boolean;
}

const SECRET = 'placeholder-key-0123456789';
const PROMPT = 'the prompt that must not be in argv';
const CLEAN: AgentExit = { code: 0, signal: null, stderrTail: '' };

/** Runs the suite for one driver. */
export function describeDriver(driver: RuntimeDriver, quirks: Quirks = {}): void {
  describe(`driver ${driver.name} on recorded streams`, () => {
    describeAnswers(driver, quirks);
    describeFailures(driver, quirks);
  });
  describe(`driver ${driver.name} on broken streams`, () => {
    describeCutOff(driver);
    describeNonsense(driver);
  });
  describe(`driver ${driver.name} as a command`, () => {
    describeCommand(driver);
  });
}

function describeAnswers(driver: RuntimeDriver, quirks: Quirks): void {
  test('an edit is reported as a session, tools that end well, exact usage and one conclusion', () => {
    const { signals, ending, served } = replay(driver, 'edit');
    expect(ending).toEqual({ kind: 'answered', reply: 'Done: hello.txt.' });
    expect(signals.filter((signal) => signal.kind === 'session')).toHaveLength(1);
    expect(signals.filter((signal) => signal.kind === 'concluded')).toHaveLength(1);
    expect(signals.filter((signal) => signal.kind === 'drift')).toEqual([]);
    expect(signals.filter((signal) => signal.kind === 'turn').length).toBeGreaterThan(0);
    expect(toolOutcomes(signals)).toEqual([true, true]);
    expect(usageIn(signals)).toEqual(expectedUsage(served, quirks));
  });
  test('a command is one tool call, and the reply is the last text', () => {
    const { signals, ending, served } = replay(driver, 'command');
    expect(ending).toEqual({ kind: 'answered', reply: 'The command printed ran.' });
    expect(toolOutcomes(signals)).toEqual([true]);
    expect(usageIn(signals)).toEqual(expectedUsage(served, quirks));
  });
  test('a command that fails is a failed tool and not a failed agent', () => {
    const { signals, ending } = replay(driver, 'failed-command');
    expect(ending).toEqual({ kind: 'answered', reply: 'It failed.' });
    expect(toolOutcomes(signals)).toEqual([quirks.hidesFailedCommands === true]);
  });
}

function describeFailures(driver: RuntimeDriver, quirks: Quirks): void {
  const causes: readonly (readonly [string, AgentCause])[] = [
    ['auth', 'auth'],
    ['overloaded', 'overloaded'],
    ['rate-limit', 'rate-limit'],
    ['context-overflow', 'context-overflow'],
    ['refusal', quirks.refusal ?? 'refusal'],
    ['empty', 'empty-answer'],
  ];
  test.each(causes)('%s ends as %s whatever the exit code says', (title, cause) => {
    const { ending, signals, served } = replay(driver, title);
    expect(ending).toMatchObject({ kind: 'failed', cause });
    expect(ending).not.toMatchObject({ detail: '' });
    if (!(quirks.skipUsageOf ?? []).includes(title))
      expect(usageIn(signals)).toEqual(expectedUsage(served, quirks));
  });
  test('every failure concludes the stream, so that no caller waits for a program that would retry', () => {
    for (const [title] of causes) {
      const { signals } = replay(driver, title);
      expect(signals.filter((signal) => signal.kind === 'concluded')).toHaveLength(1);
    }
  });
}

function endOf(driver: RuntimeDriver, lines: readonly string[], exit: AgentExit): AgentEnding {
  return feed(driver, lines).stream.end(exit);
}

function describeCutOff(driver: RuntimeDriver): void {
  const half = () => {
    const lines = recordedLines(driver, 'edit');
    return lines.slice(0, Math.floor(lines.length / 2));
  };

  test('a stream that stops half-way is never an answer', () => {
    expect(endOf(driver, half(), CLEAN)).toMatchObject({ kind: 'failed' });
    expect(endOf(driver, half(), { ...CLEAN, code: 7 })).toMatchObject({
      kind: 'failed',
      cause: 'exit-code',
    });
    expect(endOf(driver, half(), { ...CLEAN, code: null, signal: 'SIGKILL' })).toMatchObject({
      cause: 'crash',
    });
    expect(endOf(driver, half(), { ...CLEAN, code: null, signal: 'SIGTERM' })).toMatchObject({
      cause: 'interrupted',
    });
  });
  test('an empty stream takes its cause from stderr', () => {
    const exit = { code: 1, signal: null, stderrTail: 'error: 401 invalid api key' };
    expect(endOf(driver, [], exit)).toMatchObject({ kind: 'failed', cause: 'auth' });
  });
  test.each([
    'warning: disk quota nearly reached',
    'port 503 is in use; capacity unavailable; process terminated',
    'note: retry after 429 files, rate limit is off, overloaded function signature',
  ])('a word or a number on stderr is no cause: %s', (stderrTail) => {
    const exit = { code: 3, signal: null, stderrTail };
    expect(endOf(driver, half(), exit)).toMatchObject({ kind: 'failed', cause: 'exit-code' });
    expect(endOf(driver, recordedLines(driver, 'edit'), exit)).toMatchObject({
      kind: 'failed',
      cause: 'exit-code',
    });
  });
  test('an agent that answered and then exits with its own code was not refused by its model', () => {
    const exit = { code: 3, signal: null, stderrTail: '429 Too Many Requests' };
    expect(endOf(driver, recordedLines(driver, 'edit'), exit)).toMatchObject({
      kind: 'failed',
      cause: 'exit-code',
    });
  });
}

function describeNonsense(driver: RuntimeDriver): void {
  test('lines of any content never throw', () => {
    const json = fc.json().map((text) => text);
    const event = fc.record({
      type: fc.constantFrom(...eventTypes(driver)),
      message: fc.jsonValue(),
      part: fc.jsonValue(),
    });
    const line = fc.oneof(
      fc.string(),
      json,
      event.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.array(line), (lines) => void endOf(driver, lines, CLEAN)),
      { numRuns: 300 },
    );
  });
  test('fields of the wrong kind never throw', () => {
    const lines = recordedLines(driver, 'edit').filter((text) => text.startsWith('{'));
    fc.assert(
      fc.property(fc.constantFrom(...lines), fc.jsonValue(), fc.nat(), (text, value, at) => {
        const event: Record<string, unknown> = JSON.parse(text);
        const keys = Object.keys(event).filter((key) => key !== 'type');
        const key = keys[at % Math.max(1, keys.length)];
        if (key !== undefined) event[key] = value;
        void endOf(driver, [JSON.stringify(event)], CLEAN);
      }),
      { numRuns: 300 },
    );
  });
  test('an unknown event is one named drift, not a failure', () => {
    const unknown = JSON.stringify({ type: 'brand_new_event' });
    const { signals, stream } = feed(driver, [unknown, unknown, ...recordedLines(driver, 'edit')]);
    expect(signals.filter((signal) => signal.kind === 'drift')).toHaveLength(1);
    expect(stream.end(CLEAN)).toMatchObject({ kind: 'answered' });
  });
}

function describeCommand(driver: RuntimeDriver): void {
  const input = (mode: Mode, more: Partial<DriverInput> = {}): DriverInput => ({
    bin: '/opt/agent',
    prompt: PROMPT,
    mode,
    settings: {},
    endpoint: { baseUrl: 'http://127.0.0.1:4000', apiKey: SECRET },
    home: '/home/agent',
    workspace: '/workspace',
    workspaceTop: '/workspace',
    isRoot: false,
    ...more,
  });
  test.each(['suggest', 'auto-edit', 'full-auto'] as const)(
    'mode %s keeps prompt and key out of argv',
    (mode) => {
      const { argv, files, env } = driver.command(input(mode, { systemPrompt: 'be brief' }));
      expect(argv.join('\0')).not.toContain(PROMPT);
      expect(argv.join('\0')).not.toContain(SECRET);
      for (const file of files) expect(file.path.startsWith('/home/agent/')).toBe(true);
      expect(Object.values(env).every((value) => typeof value === 'string')).toBe(true);
    },
  );
  test('the gate and the coordination server reach the program without an argument in argv', () => {
    const gate = { command: '/opt/gate program', args: ["it's", 'here'] };
    const mcp = {
      command: '/opt/tools',
      args: ['--x'],
      env: { TOKEN: 'tool-token' },
      socketPath: '/run/tools.sock',
    };
    const { argv, files } = driver.command(input('auto-edit', { gate, mcp }));
    const laid = files.map((file) => file.content).join('\n');
    expect(argv.join('\0')).not.toContain('/opt/gate program');
    expect(laid.includes('/opt/tools') || laid.includes('/run/tools.sock')).toBe(true);
    expect(laid.includes('/opt/gate program')).toBe(driver.name !== 'native');
  });
  test('a resumed session is named to the program if the descriptor declares that it can resume', () => {
    const descriptor = RUNTIME_DESCRIPTORS[driver.name];
    const { argv, files } = driver.command(input('auto-edit', { resume: { sessionId: 'session-1' } }));
    const reported = [...argv, ...files.map((file) => file.content)].some((text) =>
      text.includes('session-1'),
    );
    expect(reported).toBe(descriptor?.canResume);
  });
  test('the same input gives the same command', () => {
    expect(driver.command(input('auto-edit'))).toEqual(driver.command(input('auto-edit')));
  });
}

function expectedUsage(served: UsageCount, { countsCacheAsInput }: Quirks): UsageCount {
  if (countsCacheAsInput !== true) return served;
  return { ...served, inputTokens: served.inputTokens + served.cacheReadTokens, cacheReadTokens: 0 };
}
