import { describe, expect, it } from 'vitest';
import { createStreams, PIPE, TERMINAL } from './fixtures/streams.ts';

const HOSTILE = 'a\u001b]0;x\u0007\u009b2J\u202e\nb';
const SHOWN = 'a\\u001b]0;x\\u0007\\u009b2J\\u202e\\u000ab';

describe('the output', () => {
  it.each([TERMINAL, PIPE])(
    'escapes every line that is given to it, on a terminal and in a pipe',
    (isTTY) => {
      const { output, written } = createStreams(isTTY);
      output.line(HOSTILE);
      output.note([HOSTILE, 'two']);
      output.result({}, () => [HOSTILE]);
      output.status(HOSTILE);
      expect(written).toEqual([`${SHOWN}\n`, `${SHOWN}\ntwo\n`, `${SHOWN}\n`, SHOWN]);
    },
  );

  it('paints for the stream that shows it, each for itself', () => {
    const { output, written } = createStreams({ stdout: true, stderr: false });
    output.line(output.style.red('x'));
    output.note(output.style.red('x'));
    expect(written).toEqual(['\u001b[31mx\u001b[39m\n', 'x\n']);
  });

  it.each(['json', 'ndjson'] as const)('prints %s that a terminal does not obey', (format) => {
    const { output, written } = createStreams(TERMINAL, format);
    output.result([{ [HOSTILE]: HOSTILE }], () => []);
    output.event({ HOSTILE });
    const text = written.join('');
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(JSON.parse(written[0] ?? '')).toEqual(
      format === 'json' ? [{ [HOSTILE]: HOSTILE }] : { [HOSTILE]: HOSTILE },
    );
  });

  it('takes the changing line away before anything else is printed', () => {
    const { output, written } = createStreams(TERMINAL);
    output.status('one');
    output.status('two');
    output.note('said');
    output.note('more');
    expect(written).toEqual(['one', '\r\u001b[2K', 'two', '\r\u001b[2K', 'said\n', 'more\n']);
  });

  it('passes bytes through a pipe unchanged, and escapes them on a terminal, also where stderr is none', () => {
    const bytes = Buffer.concat([
      Buffer.from('\u001b[32mok\u001b[0m\tx\n\u001b[2J'),
      Buffer.from([0x9b, 0xff]),
    ]);
    const piped = createStreams(PIPE);
    piped.output.copy(Buffer.from(HOSTILE));
    expect(piped.written).toEqual([HOSTILE]);
    const shown = createStreams({ stdout: true, stderr: false });
    shown.output.copy(bytes);
    expect(shown.written).toEqual(['ok\tx\n\\u001b[2J\ufffd\ufffd']);
    const raw = createStreams(TERMINAL);
    raw.output.copy(Buffer.from(HOSTILE), { isRaw: true });
    expect(raw.written).toEqual([HOSTILE]);
  });

  it('puts characters together that come in two pieces', () => {
    const { output, written } = createStreams(TERMINAL);
    const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    output.copy(first);
    output.copy(second);
    expect(written.join('')).toBe('é');
  });

  it('formats bytes on a terminal only', () => {
    for (const [isTTY, expected] of [
      [TERMINAL, 'shown\n'],
      [PIPE, 'bytes'],
    ] as const) {
      const { output, written } = createStreams(isTTY);
      output.copy(Buffer.from('bytes'), { format: () => ['shown'] });
      expect(written).toEqual([expected]);
    }
  });
});
