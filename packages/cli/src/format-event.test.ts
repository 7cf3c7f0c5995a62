import { EVENTS, parseEnvelope, type EventEnvelope, type EventType } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { sampleEnvelope } from '../../protocol/src/fixtures/sample-events.ts';
import { formatEvent } from './format-event.ts';
import { render, STYLE } from './painted.ts';

const format = (event: EventEnvelope): string =>
  formatEvent(event, STYLE)
    .map((line) => render(line, false))
    .join('\n');

const PLACE = { seq: 7, at: '2026-11-15T12:46:06.462Z' };

describe('an event in words', () => {
  it('names sequence number, time and type, and says the few things that matter', () => {
    const failed = sampleEnvelope(
      'dispatch.failed',
      {
        durationMs: 1500,
        exitCode: 3,
        failure: {
          reason: 'provider-failed',
          cause: 'gate',
          step: 11,
          detail: 'gate `npm test` exited with 3',
        },
      },
      PLACE,
    );
    expect(format(failed)).toBe(
      '   7  12:46:06.462  dispatch.failed       failed (gate) in step 11: gate `npm test` exited with 3 · exit 3 · after 1.5 s',
    );
  });

  it.each(Object.keys(EVENTS) as EventType[])('has words for %s, however little of it there is', (type) => {
    const line = format(sampleEnvelope(type));
    expect(line).toContain(type);
    if (type !== 'events.lost') expect(line).not.toContain('{');
  });

  it('shows an event of a newer version under its own name, with all it says', () => {
    const newer = parseEnvelope({
      ...sampleEnvelope('gap', {}, PLACE),
      type: 'run.moved',
      to: 'mars',
      count: undefined,
    });
    expect(format(newer)).toBe(
      '   7  12:46:06.462  run.moved             a newer version wrote it, as it stands: {"to":"mars"}',
    );
    const other = parseEnvelope({ ...sampleEnvelope('run.queued', {}, PLACE), position: 'first' });
    expect(format(other)).toBe(
      '   7  12:46:06.462  run.queued            a newer version wrote it, as it stands: {"position":"first","limit":2}',
    );
  });

  it('shows what a failed command printed, and nothing that a terminal would obey', () => {
    const ran = sampleEnvelope('script.ran', {
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
