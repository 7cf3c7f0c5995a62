import { describe, expect, it, onTestFinished } from 'vitest';
import type { LiveRun } from '@caisson/protocol';
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
    wrapColumns: () => columns,
    style: STYLE,
    closed: new AbortController().signal,
    line: () => undefined,
    note: (text) => notes.push([text].flat().map(toPlain).join('\n')),
    result: () => undefined,
    event: () => undefined,
    status: (text) => written.push(text === null ? '<none>' : toPlain(text)),
    prompt: () => undefined,
    endPrompt: () => undefined,
    copy: () => undefined,
    openScreen: () => expect.unreachable('a live view takes one line'),
    pass: () => Promise.resolve(),
  };
  return { output, written, notes };
}

function view(columns: number, joined?: LiveRun) {
  const terminal = createTerminal(columns);
  const live = createLiveView(terminal.output, 'run_x', { joined });
  onTestFinished(() => live.end());
  return { ...terminal, live };
}

describe('the live view', () => {
  it('calls a run queued until it has its slot, and preparing from then on', () => {
    const { live, written } = view(80);
    live.show(event('run.queued', { position: 1, limit: 2 }));
    expect(written.at(-1)).toMatch(/^queued/);
    live.show(event('run.placed', {}));
    expect(written.at(-1)).toMatch(/^preparing/);
  });

  it('shows each step of a task with a branch, and says that it is being pushed', () => {
    const { live, notes, written } = view(80);
    const repository = { remote: '/srv/r.git', push: true };
    const task = { id: 't', description: 'd', priority: 5, branch: 'work' };
    live.show(event('dispatch.accepted', { task, repository }));
    live.show(event('attempt.launched', {}));
    live.show(event('dispatch.started', {}));
    live.show(event('processes.ended', { left: 0 }));
    live.show(event('work.saved', { commit: 'c0ffee'.repeat(7) }));
    live.show(event('handoff.recorded', {}));
    live.show(event('dispatch.finished', { branch: { name: 'work', commit: 'c', status: 'created' } }));
    expect(written.at(-1)).toMatch(/^push /);
    live.show(event('branch.push-failed', {}));
    live.show(event('branch.pushed', {}));
    live.show(event('workspace.removed', {}));
    expect(notes.slice(1).map((note) => note.trim())).toEqual([
      ...['launched: the sandbox is there', 'started: the agent works'],
      ...['ended: nothing of it runs any more', 'saved: commit c0ffeec0ffee'],
      expect.stringMatching(/^handed off: \w+, said by the \w+$/),
      'push failed: work: rejected, pre-receive hook declined',
      'pushed: work to https://git.example/a.git',
      'cleaned up: its workspace is removed',
    ]);
  });

  it('counts from the acceptance of a run that was joined later, and says where its host says it is', () => {
    const counts = { turns: 3, toolCalls: 2, tokens: 10, health: 'healthy', source: 'host' } as const;
    const minutesAgo = (minutes: number) => ({ at: new Date(Date.now() - minutes * 60_000).toISOString() });
    const { live, written } = view(80, { phase: 'working', since: '', attempt: 1, ...counts });
    live.show(event('dispatch.accepted', {}, minutesAgo(5)));
    live.show(event('dispatch.started', {}, minutesAgo(4)));
    expect(written.at(-1)).toMatch(/^agent {2}5 min/);
    live.show(event('tool.started', {}, minutesAgo(2)));
    expect(written.at(-1)).toMatch(/^agent {2}5 min.* {2}2 min.* in bash/);
    live.show(event('dispatch.started', {}, { ...minutesAgo(0), attempt: 2 }));
    expect(written.at(-1)).toMatch(/^starting {2}5 min/);
    live.show(event('dispatch.accepted', {}, minutesAgo(-60))); // its clock is ahead of ours
    expect(written.at(-1)).toMatch(/^starting {2}\d+ ms/);
  });

  it('says once, before the agent works, that it works in place', () => {
    const { live, notes } = view(80);
    const launched = event('attempt.launched', { handle: {}, nonce: 'n', workspace: { kind: 'in-place' } });
    live.show(launched);
    live.show({ ...launched, attempt: 2 });
    expect(notes.join('\n').match(/in place: it works in your own files/g)).toHaveLength(1);
  });

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

  it('shows one line a call when it has ended, and until then what is under way', () => {
    const { live, notes, written } = view(40);
    const at = new Date().toISOString();
    live.show(event('tool.started', { what: `x\u001b]52;c;AAAA\u0007 ${'y'.repeat(40)}` }, { at }));
    expect(notes).toEqual([]);
    expect(written.at(-1)).toMatch(/^preparing {2}\d+ ms {2}\d+ ms in bash {2}x/);
    live.show(event('tool.ended', { ok: false, detail: 'one\n\ntwo' }));
    expect(notes).toEqual([
      expect.stringMatching(/^ {2}✗ bash {2}x\\u001b\]52;c.*… {2}1 ms\n {6}one\n {6}two$/),
    ]);
    expect(written.at(-1)).not.toContain('bash');
    for (const line of [...written, ...notes[0]!.split('\n')]) expect(widthOf(line)).toBeLessThan(40);
  });

  it.each([' ', '\u2800', '\u0903', '日', '\u{1f202}', '❤\ufe0f'])(
    'whatever an agent says, no line is too wide and each has its mark: %j',
    (blank) => {
      const { live, notes } = view(40);
      const forged = `${blank.repeat(76)}verify passed\n✓ bash  npm test  3.1 s`;
      live.show(event('agent.said', { text: `.${forged}` }));
      live.show(event('policy.denied', { denial: { layer: 'gate', what: forged } }));
      live.show(event('model.called', { outcome: 'failed', detail: forged }));
      const lines = notes.flatMap((note) => note.split('\n'));
      for (const line of lines) expect(widthOf(line)).toBeLessThan(40);
      expect(notes[0]).toMatch(/^( {2}│ .*(\n|$))+( {2}… \d+ more lines?)?$/);
      for (const line of lines) expect(line).toMatch(/^(denied:| {2})/);
    },
  );

  it('counts what the model answered, and says what the agent waits for until it goes on', () => {
    const { live, written, notes } = view(80);
    live.show(event('model.called', { costUsd: 0.02 }));
    live.show(event('worker.progress', { phase: 'agent', tokensIn: 999 }));
    live.show(event('agent.said', { text: 'Reconnecting… 1/5', isWaiting: true }));
    expect(written.at(-1)).toMatch(/^agent {2}.*waits: Reconnecting… 1\/5 {2}3 tokens {2}\$0\.02$/);
    live.show(event('model.called', { outcome: 'failed', detail: 'the model answered with HTTP 529' }));
    expect(notes.at(-1)).toBe('  the model answered with HTTP 529 (after 1 ms)');
    // The price of one of them is unknown, so that of all is.
    expect(written.at(-1)).toMatch(/^agent {2}\d+ ms {2}6 tokens$/);
  });
});

describe('a model that is down', () => {
  const failed = (durationMs: number) =>
    event('model.called', { outcome: 'failed', detail: 'the model answered with HTTP 529', durationMs });
  const waits = (count: number) => event('agent.said', { text: `Reconnecting… ${count}/5`, isWaiting: true });
  const down = [1, 2, 3, 4].flatMap((count) => [failed(count), waits(count)]);

  it('is reported once, then counted when it answers again', () => {
    const { live, notes } = view(80);
    for (const one of [...down, event('tool.started'), failed(9)]) live.show(one);
    live.end();
    expect(notes).toEqual([
      '  the model answered with HTTP 529 (after 1 ms)',
      '  │ Reconnecting… 1/5',
      '  … the same 6 more times',
      '  the model answered with HTTP 529 (after 9 ms)',
    ]);
  });

  it('is not the same as one that fails for another reason', () => {
    const { live, notes } = view(80);
    const answered = (status: number) =>
      event('model.called', { outcome: 'failed', detail: `the model answered with HTTP ${status}` });
    const says = (text: string) => event('agent.said', { text, isWaiting: true });
    for (const status of [529, 529, 401]) live.show(answered(status));
    for (const text of ['HTTP 429, retry in 1.5s (1/5)', 'HTTP 429, retry in 30 seconds (2/5)', 'HTTP 503'])
      live.show(says(text));
    live.end();
    expect(notes).toEqual([
      '  the model answered with HTTP 529 (after 1 ms)',
      '  the model answered with HTTP 401 (after 1 ms)',
      '  │ HTTP 429, retry in 1.5s (1/5)',
      '  │ HTTP 503',
      '  … the same 2 more times',
    ]);
  });

  it('is counted at the end of the run, and reported in full with --verbose', () => {
    const { live, notes } = view(80);
    for (const one of down.slice(0, 3)) live.show(one);
    live.end();
    live.end();
    expect(notes.slice(2)).toEqual(['  … the same once more']);
    const loud = createTerminal(80);
    const verbose = createLiveView(loud.output, 'run_x', { detail: 'verbose' });
    for (const one of down) verbose.show(one);
    verbose.end();
    expect(loud.notes).toHaveLength(8);
  });
});

describe('limits that this machine cannot enforce', () => {
  it('are named once, with where the remedy is', () => {
    const { live, notes } = view(80);
    const accepted = event('dispatch.accepted');
    live.show({ ...accepted, grant: { ...accepted.grant, limits: { memory: 1024, pids: 64 } } });
    for (const purpose of ['setup', 'agent', 'agent'] as const)
      live.show(event('sandbox.started', { purpose, enforced: { cgroup: false } }));
    expect(notes.slice(1)).toEqual([
      'limits: memory, pids not enforced here (why, and what helps: caisson doctor)',
    ]);
  });
});

describe('widths', () => {
  it('count wide characters twice, and a cut never splits one', () => {
    expect(widthOf('日本語')).toBe(6);
    expect(widthOf('a\u0301\u0903\u{17000}❤\ufe0f')).toBe(6);
    expect(cutToWidth('日本語', 4)).toBe('日…');
    expect(cutToWidth('short', 5)).toBe('short');
    expect(cutToWidth('shorter', 0)).toBe('');
  });
});
