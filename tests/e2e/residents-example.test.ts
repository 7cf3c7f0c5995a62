/** The example that `caisson init --with residents` writes, and the code of the guide, with agents of a scripted model. */
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ComputeView } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { openedLedger, serve } from '../faults/killed-daemons.ts';
import { createAgents } from '../faults/scripted-agents.ts';
import { readBlocks, readResidentCode } from './guide-blocks.ts';
import { until } from './project.ts';
import { readJson, startThread, untilEnded, untilThreadIs } from './resident-project.ts';

const RED = { testResults: [{ name: 'sum.test.js', status: 'failed' }] };
const GREEN = { testResults: [{ name: 'sum.test.js', status: 'passed' }] };

it('a red build is fixed by one agent and reviewed by a second one', { timeout: 120_000 }, async () => {
  const { project, model } = await createAgents([
    {
      when: 'Review the changes', // first: its prompt has that of the work that it continues, too
      turns: [{ tool: { intent: 'run-command', command: 'cat sum.js' } }, { say: 'It is correct. APPROVED' }],
    },
    {
      when: 'Find out why',
      turns: [
        { tool: { intent: 'run-command', command: 'echo fixed > sum.js' } },
        { say: 'I corrected the sum.' },
      ],
    },
  ]);
  const config = join(project.root, 'caisson.yaml');
  const runtime = readFileSync(config, 'utf8');
  rmSync(config);
  const init = await project.caisson('init', '--with', 'residents');
  expect([init.code, init.stderr]).toEqual([0, '']);
  appendFileSync(config, runtime); // what a user adds: which model
  project.write('sum.js', 'broken\n');
  project.write('test-results.json', JSON.stringify(GREEN));
  project.git('add', '-A');
  project.git('commit', '-qm', 'residents');
  const daemonPid = await serve(project);
  const ledger = openedLedger(join(project.root, '.caisson'));
  project.write('test-results.json', JSON.stringify(RED));
  const { threadId } = await until('a thread is started', () => ledger.threads({})[0], 60_000);
  const thread = await untilEnded({ project, ledger, daemonPid }, threadId);
  const [fix = ''] = thread.runs;
  expect([thread.status, thread.detail, thread.runs.length]).toEqual(['done', undefined, 2]);
  expect(thread.payload).toEqual({ failed: ['sum.test.js'] });
  expect(thread.messages.map(({ role, content }) => [role, content])).toEqual([
    ['fix', { runId: fix, status: 'done', isChanged: true }],
    ['review', { isApproved: true, words: 'It is correct. APPROVED' }],
    ['report', `done, approved; its work: caisson diff ${fix}`],
  ]);
  const requests = model.modelRequests();
  expect(requests).toHaveLength(4);
  expect(JSON.stringify(requests.at(-1))).toContain('fixed'); // the second agent sees the work of the first
  expect((await project.caisson('diff', fix)).stdout).toContain('+fixed');
  expect(project.git('status', '--porcelain', 'sum.js')).toBe('');
});

it(
  'what init prints next works while a daemon serves the project, for tests of any kind, and by hand',
  {
    timeout: 120_000,
  },
  async () => {
    const { project, model } = await createAgents([
      { when: 'Review the changes', turns: [{ say: 'Nothing is there. APPROVED' }] },
      { when: 'Run the tests', turns: [{ say: 'They pass.' }] },
    ]);
    project.write('package.json', JSON.stringify({ scripts: { test: 'node --test' } }));
    const config = join(project.root, 'caisson.yaml');
    const runtime = readFileSync(config, 'utf8');
    const daemonPid = await serve(project);
    const residents = { project, daemonPid, ledger: openedLedger(join(project.root, '.caisson')) };
    rmSync(config);
    const { stdout } = await project.caisson('init', '--with', 'residents');
    expect(stdout).toContain('npm test; echo $? > test-exit-code.txt');
    expect(stdout).not.toContain('Next:'); // one next step, not two
    expect(stdout).toContain('Then: caisson trust --yes, caisson reload, and caisson logs --all -f');
    appendFileSync(config, runtime);
    expect((await project.caisson('up', '-d')).stderr).toContain('caisson reload lets it read caisson.yaml');
    expect((await project.caisson('trust', '--yes')).code).toBe(0);
    expect((await project.caisson('reload')).stdout).toContain('senses.tests');
    const computed = async (code: string): Promise<unknown> => {
      project.write('test-exit-code.txt', code);
      return (await readJson<ComputeView>(project, 'senses', 'trigger', 'tests')).signals;
    };
    expect([await computed('0\n'), await computed('')]).toEqual([[{ name: 'green', payload: null }], []]);
    const byHand = await untilEnded(residents, await startThread(project, 'fix-build'));
    const [fix = ''] = byHand.runs;
    expect([byHand.status, byHand.detail, byHand.payload]).toEqual(['done', undefined, null]);
    expect(byHand.messages.at(-1)?.content).toBe(`done, changed nothing: caisson show ${fix}`);
    expect(model.modelRequests().length).toBe(1); // no review of nothing
  },
);

it('the code and the schedules of the guide work as they are written', { timeout: 120_000 }, async () => {
  const { project } = await createAgents([
    { when: 'Fix sum, product', turns: [{ say: 'I fixed both.' }] },
    { when: 'Look for dead code', turns: [{ say: 'There is none.' }] },
  ]);
  for (const [path, text] of Object.entries(readResidentCode())) project.write(path, text);
  const [schedules] = readBlocks('residents').filter(({ name }) => name === 'schedules.yaml');
  appendFileSync(
    join(project.root, 'caisson.yaml'),
    `
senses: { results: { file: senses/results.mts, on: [{ files: failed.txt }] } }
workflows:
  fix-build: { file: workflows/fix.mts, on: [red] }
  role: { file: workflows/role.mts }
${schedules?.text}`,
  );
  const daemonPid = await serve(project);
  const residents = { project, daemonPid, ledger: openedLedger(join(project.root, '.caisson')) };
  const { ledger } = residents;
  const named = await readJson<{ name: string }[]>(project, 'schedules');
  expect(named.map(({ name }) => name)).toEqual(['audit', 'nightly', 'sweep']);
  const first = await readJson<ComputeView>(project, 'senses', 'trigger', 'results');
  expect(first.signals).toEqual([{ name: 'green', payload: null }]);
  project.write('failed.txt', 'sum\nproduct\n');
  const { threadId } = await until('a thread is started', () => ledger.threads({})[0], 60_000);
  const fixed = await untilEnded(residents, threadId);
  expect([fixed.status, fixed.messages[0]?.content]).toEqual([
    'done',
    expect.objectContaining({ status: 'done', reply: 'I fixed both.' }),
  ]);
  const role = await startThread(project, 'role');
  await untilThreadIs(residents, role, ({ waitsFor = [] }) => waitsFor[0]?.kind === 'ask');
  expect((await project.caisson('answer', role, 'yes')).code).toBe(0);
  await untilThreadIs(residents, role, ({ waitsFor = [] }) => waitsFor[0]?.kind === 'sleep');
});
