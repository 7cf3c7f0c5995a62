import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleEnvelope as event } from '../../protocol/src/fixtures/sample-events.ts';
import { cutToWidth, widthOf } from './format-values.ts';
import { createLiveView } from './live-view.ts';
import type { Output } from './output.ts';
import { render, STYLE, type Line } from './painted.ts';

const toPlain = (line: Line): string => render(line, false);

/** A terminal of so many columns, and what was written to it. */
function createTerminal(columns: number): { output: Output; written: string[]; notes: string[] } {
  const written: string[] = [];
  const notes: string[] = [];
  const output: Output = {
    format: 'human',
    isInteractive: true,
    columns: () => columns,
    style: STYLE,
    closed: new AbortController().signal,
    line: () => undefined,
    note: (text) => notes.push([text].flat().map(toPlain).join('\n')),
    result: () => undefined,
    event: () => undefined,
    status: (text) => written.push(text === null ? '<none>' : toPlain(text)),
    copy: () => undefined,
  };
  return { output, written, notes };
}

function view(columns: number) {
  const terminal = createTerminal(columns);
  const live = createLiveView(terminal.output, 'run_x');
  onTestFinished(() => live.end());
  return { ...terminal, live };
}

describe('the live view', () => {
  it.each([10, 24, 40])('never draws a line wider than a terminal of %i columns', (columns) => {
    const { live, written } = view(columns);
    live.show(event('run.stalled', { reason: 'model-silent', detail: 'no byte for 60 s' }));
    live.show(
      event('worker.progress', {
        phase: 'agent',
        tool: 'mcp__日本語__longer-than-all',
        tokensIn: 123456,
        tokensOut: 9,
      }),
    );
    const lines = written.filter((text) => text !== '<none>');
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(widthOf(line)).toBeLessThan(columns);
  });

  it('keeps showing the tokens after the agent has ended', () => {
    const { live, written } = view(80);
    live.show(event('worker.progress', { phase: 'agent', tokensIn: 40, tokensOut: 2 }));
    live.show(event('worker.progress', { phase: 'capture' }));
    expect(written.at(-1)).toMatch(/^capture {2}.* {2}42 tokens/);
    expect(written.join('')).not.toContain('cost unknown');
  });

  it('draws the changing line again below a remark', () => {
    const { live, written, notes } = view(80);
    live.show(event('dispatch.started'));
    live.note('Stopping.');
    expect(notes).toEqual(['Stopping.']);
    expect(written.slice(-1)).toEqual([expect.stringMatching(/^starting/)]);
  });

  it('reports a failure of many lines in one', () => {
    const { live, notes } = view(80);
    live.show(
      event('attempt.ended', {
        failure: { reason: 'crashed', detail: 'it broke\n    at somewhere\n    at elsewhere' },
      }),
    );
    expect(notes).toEqual(['attempt 1 failed: it broke; trying again']);
  });

  it('shows control characters of a tool name instead of obeying them', () => {
    const { live, notes } = view(80);
    live.show(event('worker.progress', { phase: 'agent', tool: 'x\u001b]52;c;AAAA\u0007' }));
    expect(notes).toEqual(['tool: x\\u001b]52;c;AAAA\\u0007']);
  });
});

describe('widths', () => {
  it('count wide characters twice, and a cut never splits one', () => {
    expect(widthOf('日本語')).toBe(6);
    expect(cutToWidth('日本語', 4)).toBe('日…');
    expect(cutToWidth('short', 5)).toBe('short');
    expect(cutToWidth('shorter', 0)).toBe('');
  });
});
