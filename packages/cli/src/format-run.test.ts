import {
  RunId,
  Sha256,
  type DataOf,
  type DispatchResult,
  type EventEnvelope,
  type EventType,
} from '@caisson/protocol';
import { expect, test } from 'vitest';
import { SAMPLE_DATA, sampleEnvelope } from '../../protocol/src/fixtures/sample-events.ts';
import { formatEnding } from './format-ending.ts';
import { formatRun } from './format-run.ts';
import { render, STYLE, type Lines } from './painted.ts';

const RUN = 'run_00000000000000000001';

const toText = (lines: Lines): string => lines.map((line) => render(line, false)).join('\n');

const result: DispatchResult = {
  runId: RUN,
  status: 'done',
  exitCode: 0,
  durationMs: 1200,
  stdout: '',
  stderr: '',
  reply: 'Done.\n',
  resolved: { capabilities: [], env: [], model: { requested: 'm-1', served: ['m-2'] } },
  result: null,
  events: { count: 1, lastSeq: 1 },
};

const event = <T extends EventType>(seq: number, type: T, data: Partial<DataOf<T>> = {}, attempt = 1) =>
  sampleEnvelope(type, data, { seq, offset: seq, attempt, at: `2026-01-01T00:00:0${seq}.000Z` });

const accepted = event(1, 'dispatch.accepted', {}, 0);

const usage = { models: [], inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const empty = { ref: Sha256.parse('0'.repeat(64)), head: '', bytes: 0, truncated: false };
const sealed: NonNullable<DispatchResult['result']> = {
  ...{ schemaVersion: 1, runId: RunId.parse(RUN), attempt: 1, nonce: '', status: 'failed', exitCode: 1 },
  ...{ durationMs: 1, reply: empty, outputs: [], usage, blocks: [] },
  policy: { grant: accepted.grant, enforced: {}, denials: [] },
  logs: { stdout: empty, stderr: empty },
};

const show = (more: Partial<DispatchResult>, events: EventEnvelope[] = [], columns = Infinity): string =>
  toText(formatRun({ ...result, ...more }, [accepted, ...events], { style: STYLE, columns }));

test('a run that continues with an answer shows the question and the answer', () => {
  const text = show({
    continues: { runId: 'run_00000000000000000000', question: 'Which\ncolour?', answer: 'blue' },
  });
  expect(text).toContain(
    [
      '  paint it',
      '  priority: 5 of 1 to 10',
      '  continues: run_00000000000000000000',
      '  question: Which',
      '            colour?',
      '  answer: blue',
    ].join('\n'),
  );
});

test('a run that asked shows the outcome of its question', () => {
  const asked = (status: 'open' | 'answered' | 'expired', more = {}) =>
    show({ status: 'waiting', asked: { question: 'Which?', status, ...more } });
  expect(asked('open')).toContain(`  answer: caisson answer ${RUN} "…"`);
  expect(asked('expired')).toContain(`  expired; ask again: caisson retry ${RUN}`);
  const answered = asked('answered', { answer: 'blue', continuedBy: 'run_00000000000000000002' });
  expect(answered).toContain('  answered: blue\n  continued: caisson show run_00000000000000000002');
  expect(answered).not.toContain('caisson answer');
});

test('an interrupted run says why, and how to go on: with its work where an agent had begun', () => {
  const ended = event(2, 'dispatch.cancelled', { cause: 'shutdown' });
  const queued = show({ status: 'interrupted' }, [ended]);
  expect(queued).toContain('dispatch.cancelled its host was ended');
  expect(queued).toContain('it was stopped because the process that carried it out was ended');
  expect([queued.includes('caisson continue'), queued.includes('caisson retry')]).toEqual([false, true]);
  const begun = { ...result, status: 'interrupted', result: sealed } as const;
  for (const text of [show(begun), toText(formatEnding(begun, STYLE))])
    expect(text).toMatch(
      /it was stopped because[^]*go on: caisson continue run_0+1 "…"\n +again: caisson retry/,
    );
});

test('an attempt that ended before its agent started is counted from the acceptance', () => {
  const ended = event(3, 'attempt.ended', { nextAttempt: 2 });
  expect(show({}, [ended, event(4, 'dispatch.started', {}, 2)])).toContain(
    '2.0 s  attempt 1 ended; 2 follows',
  );
});

test('the same event several times in a row is one line, and attempts are counted where there are several', () => {
  const connection = { verdict: 'allowed', target: 'a:443' } as const;
  const text = show({}, [
    event(2, 'attempt.launched'),
    event(3, 'network.connection', connection),
    event(4, 'network.connection', connection),
    event(5, 'attempt.ended', { failure: { reason: 'crashed', detail: 'x' } }),
    event(6, 'attempt.launched', {}, 2),
    event(7, 'warning', { source: 'store', message: 'kept here only\u001b[2J' }, 0),
  ]);
  expect(text).toContain('    2  attempt.launched number 1\n');
  expect(text).toContain('    3  network.connection allowed a:443 (2 times)\n');
  expect(text).toContain('    5  attempt.ended crashed\n');
  expect(text).toContain('    6  attempt.launched number 2\n');
  expect(text).toContain('    7  warning store: kept here only\\u001b[2J\n');
});

test('an agent that reached nothing gets the option that lets it', () => {
  const detail = 'npm error getaddrinfo EAI_AGAIN registry.npmjs.org';
  const text = show({}, [event(2, 'dispatch.started'), event(3, 'tool.ended', { ok: false, detail })]);
  expect(text).toContain('Allow what it needs: --network hosts=registry.npmjs.org:443');
});

test('a model that is down is reported once in the transcript, then counted', () => {
  const failed = (seq: number) => event(seq, 'model.called', { outcome: 'failed', detail: 'HTTP 529' });
  const text = show({}, [event(2, 'dispatch.started'), failed(3), failed(4), failed(5)]);
  expect(text.match(/HTTP 529/g)).toHaveLength(1);
  expect(text).toContain('… the same 2 more times');
});

test('a call is shown with its own end, also when its id is used again', () => {
  const text = show({}, [
    event(2, 'dispatch.started'),
    event(3, 'tool.started', { what: 'one' }),
    event(4, 'tool.ended', { ok: false }),
    event(5, 'tool.started', { what: 'two' }),
    event(6, 'tool.started', { what: 'three' }),
    event(7, 'tool.ended', { ok: true }),
  ]);
  expect([...text.matchAll(/ s {2}(\S) bash {2}(\w+)/g)].map(([, mark, what]) => [mark, what])).toEqual([
    ['✗', 'one'],
    ['…', 'two'],
    ['✓', 'three'],
  ]);
});

test('on a terminal nothing is wider than it, and what is broken stays below its label', () => {
  const failure = {
    reason: 'worker-failed' as const,
    detail: `${'a word after '.repeat(20)}${'x'.repeat(99)}`,
  };
  const text = show({ status: 'error', failure }, [], 60);
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(text).toMatch(/\n {2}worker-failed: a word .*\n {17}\S/);
});

test('the model that served is shown if it is not the requested one', () => {
  expect(show({})).toContain('model: m-1, served by m-2');
  const { resolved } = result;
  const same = { ...resolved, model: { requested: 'm-1', served: ['m-1'] } };
  expect(show({ resolved: same })).toContain('model: m-1\n');
});

test('of what a command printed the end is shown, with the place where all of it is', () => {
  const lines = Array.from({ length: 500 }, (_, index) => `line ${index}`);
  const command = event(1, 'dispatch.accepted', { runtime: 'command' }, 0);
  const print = (more: Partial<DispatchResult>): string =>
    toText(formatRun({ ...result, ...more }, [command], { style: STYLE, columns: Infinity }));
  const text = print({ stdout: `${lines.join('\n')}\n`, reply: lines.slice(-200).join('\n') });
  expect(text).toContain(`  … the end of 4.3 KiB; all: caisson logs ${RUN} --stdout\n  line 460\n`);
  expect(text).toContain('  line 499');
  expect(text).not.toContain('line 459');
  const short = print({ stdout: 'a\r\nb\r\n\n', reply: 'a\nb' });
  expect(short).not.toContain('the end of');
  expect(show({ reply: lines.join('\n') })).toContain('  line 39\n  … 460 more lines; all: caisson show');
});

test('a clock that is set back in the middle of a run takes no time away', () => {
  const started = event(2, 'dispatch.started');
  const back = { ...event(3, 'dispatch.finished'), at: '2025-12-01T00:00:00.000Z' };
  const text = show({}, [started, back, { ...event(4, 'evidence.sealed'), at: '2025-12-01T00:00:00.500Z' }]);
  expect(text).toContain('1.000 s    3  dispatch.finished');
  expect(text).toContain('1.500 s    4  evidence.sealed');
});

test('a model that was never reached has no usage and no cost', () => {
  const texts = (more: Partial<DispatchResult>): string[] => [
    show({ result: sealed, ...more }),
    toText(formatEnding({ ...result, result: sealed, ...more }, STYLE)),
  ];
  for (const text of texts({})) expect(text).not.toMatch(/cost unknown|usage:|0 tokens|0 in/);
  for (const text of texts({ costUsd: 0.5 })) expect(text).toContain('$0.50');
  expect(texts({})[1]).toContain('\n  nothing was changed\n');
  expect(texts({ status: 'error' })[1]).not.toContain('nothing was changed');
  const branch = { name: 'work', commit: 'c0', status: 'created' } as const;
  for (const text of texts({ branch })) expect(text).toContain('branch: work (nothing was changed');
  const recorded = SAMPLE_DATA['handoff.recorded'].handoff;
  const handoff = {
    ...recorded,
    branch: 'work',
    verdict: { ...recorded.verdict, isEmpty: true, pushed: false },
  };
  for (const text of texts({ handoff }))
    expect(text).toContain('branch: work was not made: nothing was changed');
});

test('where the remote has the branch already, the next try names another one', () => {
  const failed = (detail: string): string =>
    show({ status: 'error', failure: { reason: 'worker-failed', detail } });
  const taken = 'git@host:app.git has a branch work already. Name another one: --branch OTHER.';
  expect(failed(taken)).toContain(`again: caisson retry ${RUN} --branch OTHER`);
  expect(failed('broken')).toMatch(new RegExp(`again: caisson retry ${RUN}$`, 'm'));
});

test('a run that is under way has no duration yet', () => {
  const text = show({ status: 'running', durationMs: 0, reply: '' });
  expect(text.split('\n')[0]).toBe(`running  ${RUN}`);
  expect(text).not.toContain('0 ms');
  const queued = formatRun({ ...result, status: 'queued' }, [], {
    ...{ style: STYLE, columns: Infinity, status: 'preparing' },
  });
  expect(toText(queued)).toMatch(/^preparing {2}run_/);
});

test('much work beside the patch is listed in show, and counted in the ending', () => {
  const beside = [1, 2, 3, 4, 5].map((number) => ({ what: `${number}.log`, get: `cp ${number}.log .` }));
  const count = (text: string) => text.match(/not in the patch: \d\.log; get it: cp/g)?.length;
  expect(count(show({ beside }))).toBe(5);
  const ending = toText(formatEnding({ ...result, beside }, STYLE));
  expect(count(ending)).toBe(3);
  expect(ending).toContain(`  not in the patch: 2 more; all of them: caisson show ${RUN}`);
});

test('a run on a remote says where it worked, and what was asked for its branch', () => {
  const repository = { remote: 'https://git.example/a.git', push: true };
  const task = { ...accepted.task, branch: 'work' };
  const text = toText(
    formatRun({ ...result, repository }, [{ ...accepted, task, repository }], {
      ...{ style: STYLE, columns: Infinity },
    }),
  );
  expect(text).toContain('  repository: https://git.example/a.git\n  branch: work, to be pushed\n');
});

test('a hand-off of a run on a remote says that its branch is not there', () => {
  const handoff: NonNullable<DispatchResult['handoff']> = {
    ...{ taskId: 't', status: 'complete', by: 'agent', summary: 'done', branch: 'work' },
    ...{ filesChanged: [], outOfScope: [], concerns: [], suggestions: [] },
    metrics: {
      ...{ linesAdded: 1, linesRemoved: 0, filesCreated: 1, filesModified: 0 },
      ...{ tokensUsed: 0, toolCallCount: 0, durationMs: 1 },
    },
    verdict: {
      ...{ patchApplies: true, branchExists: true, pushed: false },
      ...{ scopeRespected: true, verify: 'none', isEmpty: false },
    },
  };
  expect(show({ handoff })).not.toContain('pushed');
  const repository = { remote: 'https://git.example/a.git', push: true };
  expect(show({ handoff, repository })).toContain('the branch exists, it is NOT pushed');
});
