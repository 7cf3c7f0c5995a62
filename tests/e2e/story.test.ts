/** What an agent says and does is recorded, whatever it is: bounded, redacted, and the same for every reader. */
import { expect, it } from 'vitest';
import { call, calls, createStory, goOn, WAITS } from './create-story.ts';
import { finish } from './project.ts';

const TOKEN = 'tok-5k2j4h6g8f0d1s3a';

const STORY = [
  { kind: 'text', text: `First I look.\nThen I use ${TOKEN}.` },
  ...call('c1', 'cat a.txt'),
  { kind: 'waiting', text: 'Reconnecting… 1/5' },
  ...call('c2', 'npm test', { ok: false, detail: 'not ok 1\n1 test failed' }),
  { kind: 'text', text: 'It is done.' },
];

it('shows the same story live, in logs -f of a detached run, in logs and in show', async () => {
  const project = createStory(STORY, { env: { TOKEN }, script: `${WAITS} cat signals` });
  const how = ['--runtime', 'mine', '--secret', 'TOKEN=env:TOKEN', 'do it'];
  const runId = (await project.caisson('run', '--detach', ...how)).stdout.trim();
  const following = finish(project.start('logs', runId, '-f'));
  await goOn(project, runId);
  const followed = (await following).stdout;
  const story = [
    /agent\.said +First I look\. ⏎ Then I use \[redacted:TOKEN\]\.\n/,
    /tool\.started +bash {2}cat a\.txt\n/,
    /tool\.ended +bash ok after 12 ms\n/,
    /agent\.said +waits · Reconnecting… 1\/5\n/,
    /tool\.started +bash {2}npm test\n/,
    /tool\.ended +bash failed after 12 ms · not ok 1 ⏎ 1 test failed\n/,
    /agent\.said +It is done\.\n/,
  ];
  for (const words of [followed, (await project.caisson('logs', runId)).stdout])
    expect(story.map((part) => words.search(part))).toEqual(
      story
        .map((part) => words.search(part))
        .filter((at) => at > 0)
        .toSorted((a, b) => a - b),
    );
  const shown = (await project.caisson('show', runId)).stdout;
  const transcript = /\nDid\n([^]*?)\n\n/.exec(shown)?.[1]?.replaceAll(/^ +[\d.]+ s {2}| {13}/gm, '');
  expect(transcript?.split('\n')).toEqual([
    '│ First I look.',
    '│ Then I use [redacted:TOKEN].',
    '✓ bash  cat a.txt  12 ms',
    '│ Reconnecting… 1/5',
    '✗ bash  npm test  12 ms',
    '    not ok 1',
    '    1 test failed',
    '│ It is done.',
  ]);
});

it('shows it live as it happens; quietly only the end, and with --verbose all that is recorded', async () => {
  const project = createStory([...STORY, { kind: 'text', text: 'a\nb\nc\nd\ne\nf' }], { env: { TOKEN } });
  const run = (...options: string[]) =>
    project.caisson('run', '--runtime', 'mine', '--secret', 'TOKEN=env:TOKEN', ...options, 'do it');
  const live = await run();
  expect(live.stderr.replace(/^run_\S+/, 'RUN').split('\n')).toEqual([
    'RUN accepted: mine',
    '  │ First I look.',
    '  │ Then I use [redacted:TOKEN].',
    '  … bash  cat a.txt',
    '  ✓ bash  cat a.txt  12 ms',
    '  │ Reconnecting… 1/5',
    '  … bash  npm test',
    '  ✗ bash  npm test  12 ms',
    '      not ok 1',
    '      1 test failed',
    '  │ It is done.',
    '  │ a',
    '  │ b',
    '  │ c',
    '  │ d',
    '  … 2 more lines',
    '',
  ]);
  expect(live.stdout).toMatch(/^It is done\.\n\nfinished/);
  const quiet = await run('--quiet');
  expect([quiet.stderr, quiet.stdout]).toEqual(['', expect.stringMatching(/^It is done\.\n\nfinished/)]);
  const verbose = await run('--verbose');
  expect(verbose.stderr).toMatch(/ {2}│ f\n/);
  expect(verbose.stderr).toMatch(/ {2}dispatch\.started {2}/);
  const both = await run('--quiet', '--verbose');
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--quiet and --verbose')]);
});

it('records 1,500 events of an agent in an attempt, and counts the others', async () => {
  const project = createStory(calls(1100));
  const ran = await project.run('--runtime', 'mine', 'do it');
  expect(ran.failure).toBeUndefined();
  const events = await project.events(ran.runId);
  expect(events.filter(({ type }) => type.startsWith('tool.')).length).toBe(1500);
  expect(events.filter(({ type }) => type === 'work.gap')).toMatchObject([
    { count: 700, types: { 'tool.started': 350, 'tool.ended': 350 } },
  ]);
  expect((await project.caisson('show', ran.runId)).stdout).toContain(
    '700 more events of this attempt are not recorded',
  );
});
