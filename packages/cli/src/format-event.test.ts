import { eventManifest, type EventEnvelope } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { formatEvent } from './format-event.ts';
import { render, STYLE } from './painted.ts';

const format = (event: EventEnvelope): string =>
  formatEvent(event, STYLE)
    .map((line) => render(line, false))
    .join('\n');

function eventOf(type: string, data: Record<string, unknown> = {}): EventEnvelope {
  return {
    type,
    version: 1,
    seq: 7,
    offset: 9,
    runId: 'run_01m7fkwn3rpkra6hmda9',
    attempt: 1,
    at: '2026-11-15T12:46:06.462Z',
    trace: '',
    ...data,
  };
}

describe('an event in words', () => {
  it('names sequence number, time and type, and says the few things that matter', () => {
    const failed = eventOf('dispatch.failed', {
      durationMs: 1500,
      exitCode: 3,
      failure: {
        reason: 'provider-failed',
        cause: 'gate',
        step: 11,
        detail: 'gate `npm test` exited with 3',
      },
    });
    expect(format(failed)).toBe(
      '   7  12:46:06.462  dispatch.failed       provider-failed (gate) in step 11: gate `npm test` exited with 3 · exit 3 · after 1.5 s',
    );
  });

  it('has words for everything that is recorded, however little of it there is', () => {
    for (const { type, durable } of eventManifest().values()) {
      const line = format(eventOf(type));
      expect(line, type).toContain(type);
      if (durable) expect(line, type).not.toContain('{');
    }
  });

  it('shows what a failed command printed, and nothing that a terminal would obey', () => {
    const ran = eventOf('script.ran', {
      lens: 'verify',
      command: 'npm test\u001b]0;x\u0007',
      exitCode: 1,
      durationMs: 20,
      stdout: 'one\ntwo \u001b[2J\n',
      stderr: '',
    });
    const line = format(ran);
    expect(line).toMatch(/exit 1 after 20 ms\n {6}one\n {6}two/);
    // oxlint-disable-next-line no-control-regex -- these are the very characters to look for
    expect(line).not.toMatch(/[\u0007\u001b]/);
  });
});
