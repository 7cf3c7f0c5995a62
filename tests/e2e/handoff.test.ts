/** The hand-off of a task: the agent's words, the host's own numbers, and nothing that an agent can forge. */
import { startModelServer, type ScriptInput } from '@caisson/testkit';
import type { DispatchResult, Handoff } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findAgentBin, installAgent, PINNED_AGENTS } from '../agents/install-agents.mjs';
import { createBareRemote } from './bare-remote.ts';
import { createProject, type Project } from './project.ts';

const SHELL = 'printf "one\\ntwo\\n" > new.txt; printf "more\\n" >> README.md; ';
const REPORT = { status: 'complete', summary: 'Both files are there.', concerns: ['README is long'] };

/** A plain command that changes two files and leaves `text` as its hand-off. */
const leaving = (text: string): string[] => [
  ...['--', 'sh', '-c', `${SHELL}printf '%s' "$1" > .caisson/handoff.json`, 'sh', text],
];

async function handOff(project: Project, ...args: string[]): Promise<DispatchResult & { handoff: Handoff }> {
  const result = await project.run(...args);
  expect(result).toHaveProperty('handoff');
  return result as DispatchResult & { handoff: Handoff };
}

describe('a task on its own branch', { timeout: 120_000 }, () => {
  it("has a hand-off with the agent's words and the host's numbers, before its ending", async () => {
    const project = createProject();
    const { runId, handoff } = await handOff(project, '--branch', 'work', ...leaving(JSON.stringify(REPORT)));
    expect(handoff).toEqual({
      taskId: runId,
      ...{ status: 'complete', by: 'agent', summary: REPORT.summary },
      ...{ concerns: REPORT.concerns, suggestions: [] },
      diffRef: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      filesChanged: ['README.md', 'new.txt'],
      outOfScope: [],
      branch: 'work',
      baseCommit: project.git('rev-parse', 'main').trim(),
      headCommit: project.git('rev-parse', 'work').trim(),
      metrics: {
        ...{ linesAdded: 3, linesRemoved: 0, filesCreated: 1, filesModified: 1 },
        ...{ tokensUsed: 0, toolCallCount: 0, durationMs: expect.any(Number) as number },
      },
      verdict: {
        ...{ patchApplies: true, branchExists: true, pushed: false },
        ...{ scopeRespected: true, verify: 'none', isEmpty: false },
      },
    });
    const types = (await project.events(runId)).map(({ type }) => type);
    expect(types.indexOf('handoff.recorded')).toBe(types.indexOf('dispatch.finished') - 1);
    expect(types.indexOf('evidence.sealed')).toBeGreaterThan(types.indexOf('dispatch.finished'));
    const { stdout } = await project.caisson('show', runId);
    expect(stdout).toContain('status: complete, in the words of the agent');
    expect(stdout).toContain('concern: README is long');
    expect(stdout).toContain('checked: the patch applies, the branch exists, the scope is respected');
    expect(stdout).toContain('counted: 1 created, 1 modified, +3 -0 lines');
  });

  it.each([
    ['passed', 'true'],
    ['failed', 'false'],
  ])('counts renames, deletions and binary files, and says that its check %s', async (verify, check) => {
    const project = createProject();
    for (const name of ['old', 'gone']) project.write(`${name}.txt`, `${name} 1\n${name} 2\n${name} 3\n`);
    project.git('add', '.');
    project.git('commit', '-qm', 'files');
    const script = `git mv old.txt new.txt; git rm -q gone.txt; printf '\\000\\001' > image.bin;
      echo '${JSON.stringify(REPORT)}' > .caisson/handoff.json`;
    const options = ['--branch', 'work', '--verify', check, '--retries', '0'];
    const ended = await handOff(project, ...options, '--', 'sh', '-c', script);
    expect(ended.handoff).toMatchObject({
      filesChanged: ['gone.txt', 'image.bin', 'new.txt', 'old.txt'],
      metrics: { linesAdded: 0, linesRemoved: 3, filesCreated: 1, filesModified: 2 },
      verdict: { patchApplies: true, verify },
    });
  });

  it('that leaves none gets one from the host, as partial; a run without a branch gets none', async () => {
    const project = createProject();
    const program = ['--', 'sh', '-c', 'echo a > a.txt; echo all is well'];
    const { handoff } = await handOff(project, '--branch', 'work', ...program);
    expect(handoff).toMatchObject({ status: 'partial', by: 'host', summary: 'all is well' });
    expect(handoff.verdict.isEmpty).toBe(false);
    expect(await project.run(...program)).not.toHaveProperty('handoff');
    const failed = await project.run('--branch', 'other', '--', 'sh', '-c', 'echo a > a.txt; exit 3');
    expect([failed.status, failed.handoff]).toEqual(['error', undefined]);
  });

  it('cannot forge what the host counts', async () => {
    const project = createProject();
    const forged = {
      ...REPORT,
      ...{ taskId: 'another', filesChanged: [], outOfScope: [], headCommit: 'f'.repeat(40), branch: 'main' },
      metrics: { linesAdded: 9999, tokensUsed: 1 },
      verdict: { patchApplies: true, scopeRespected: true, pushed: true },
      by: 'host',
    };
    const options = ['--scope', 'src', '--branch', 'work'];
    const { runId, handoff } = await handOff(project, ...options, ...leaving(JSON.stringify(forged)));
    expect(handoff).toMatchObject({
      ...{ taskId: runId, by: 'agent', branch: 'work' },
      filesChanged: ['README.md', 'new.txt'],
      outOfScope: ['README.md', 'new.txt'],
      metrics: { linesAdded: 3, tokensUsed: 0 },
      verdict: { branchExists: false, scopeRespected: false, pushed: false },
    });
    expect(handoff.headCommit).not.toBe(forged.headCommit);
  });
});

it('with outsideScope "report" the branch is made all the same', { timeout: 60_000 }, async () => {
  const project = createProject();
  const options = ['--scope', 'src', '--outside-scope', 'report', '--branch', 'work'];
  const { handoff } = await handOff(project, ...options, ...leaving(JSON.stringify(REPORT)));
  expect(handoff.outOfScope).toEqual(['README.md', 'new.txt']);
  expect(handoff.verdict).toMatchObject({ branchExists: true, scopeRespected: false });
  expect(project.git('rev-parse', 'work').trim()).toBe(handoff.headCommit);
});

/** The project's own repository, or a remote that has the same files. */
function stageFiles(place: 'own' | 'remote') {
  const names = ['src/auth/a.txt', 'src/b.txt', 'docs/c.txt', 'README.md'];
  const files = Object.fromEntries(names.map((name) => [name, 'before\n']));
  if (place === 'remote') {
    const remote = createBareRemote(files);
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    return { project: createProject({ git: false }), options, head: () => remote.find('work') };
  }
  const project = createProject();
  for (const [name, content] of Object.entries(files)) project.write(name, content);
  project.git('add', '.');
  project.git('commit', '-qm', 'files');
  return { project, options: ['--branch', 'work'], head: () => project.git('rev-parse', 'work').trim() };
}

it.each(['own', 'remote'] as const)(
  'with outsideScope "read-only" the sandbox denies it (%s repository)',
  { timeout: 60_000 },
  async (place) => {
    const { project, options: to, head } = stageFiles(place);
    const program = `
    for file in src/auth/a.txt src/b.txt docs/c.txt README.md; do echo after > $file || echo denied $file; done
    rm -rf docs; mv src old; echo new > src/auth/new.txt; mkdir -p outputs && echo o > outputs/o.txt; true`;
    const options = ['--scope', 'src/auth/**', '--outside-scope', 'read-only', ...to];
    const { handoff, stdout } = await handOff(project, ...options, '--', 'sh', '-c', program);
    expect(stdout).toBe('denied src/b.txt\ndenied docs/c.txt\ndenied README.md\n');
    expect(handoff.filesChanged).toEqual(['src/auth/a.txt', 'src/auth/new.txt']);
    expect(handoff.verdict).toMatchObject({ branchExists: true, scopeRespected: true });
    expect([handoff.headCommit, handoff.verdict.pushed]).toEqual([head(), place === 'remote']);
    const anywhere = await project.caisson(
      ...['run', '--scope', '*.md', '--outside-scope', 'read-only', '--', 'true'],
    );
    expect([anywhere.code, anywhere.stderr]).toEqual([2, expect.stringContaining('"*.md" may be anywhere')]);
  },
);

describe('a hand-off that cannot be taken', { timeout: 180_000 }, () => {
  const HUGE = 'head -c 1100000 /dev/zero | tr "\\0" " " > .caisson/handoff.json';
  it.each([
    ['is no JSON', `echo '{"status":' > .caisson/handoff.json`, 'unparseable', 'is not JSON'],
    ['is no UTF-8', `printf '"\\377"' > .caisson/handoff.json`, 'unparseable', 'is not JSON'],
    ['is too large', HUGE, 'unparseable', 'is larger than the 1048576 bytes'],
    ['is a link', 'ln -s /etc/passwd .caisson/handoff.json', 'unparseable', 'is not a regular file'],
    ['is a pipe', 'mkfifo .caisson/handoff.json', 'unparseable', 'is not a regular file'],
    ['is a folder', 'mkdir .caisson/handoff.json', 'unparseable', 'is not a regular file'],
    ['has no status', `echo '{"summary":"x"}' > .caisson/handoff.json`, 'wrong-shape', 'status'],
    [
      'has another status',
      `echo '{"status":"great","summary":"x"}' > .caisson/handoff.json`,
      'wrong-shape',
      'status',
    ],
    ['is a list', 'echo [] > .caisson/handoff.json', 'wrong-shape', 'it must be an object'],
  ])('because it %s fails no run: the host writes one and names the problem', async (_, leave, kind, why) => {
    const project = createProject();
    const { status, handoff } = await handOff(
      project,
      ...['--branch', 'work', '--', 'sh', '-c', `echo a > a.txt; ${leave}`],
    );
    expect(status).toBe('done');
    expect(handoff).toMatchObject({
      ...{ status: 'partial', by: 'host', filesChanged: ['a.txt'], verdict: { branchExists: true } },
      problem: { kind, detail: expect.stringContaining(why) as string },
    });
    expect((await project.caisson('show', 'latest')).stdout).toContain('not taken: handoff.json');
  });
});

const call = (status: string, summary: string) => ({
  tool: { intent: 'mcp' as const, tool: 'hand_off', arguments: { status, summary } },
});
const SCRIPT: ScriptInput = [
  { tool: { intent: 'write-file', path: 'hello.txt', content: 'hello\n' } },
  call('partial', 'Not done yet.'),
  call('complete', 'hello.txt is written.'),
  { say: 'Done.' },
];

async function createScripted(runtime: string, script = SCRIPT): Promise<Project & { asked(): string }> {
  const server = await startModelServer({ script });
  onTestFinished(() => server.stop());
  const pinned = PINNED_AGENTS.find(({ name }) => name === runtime);
  const bin = pinned === undefined ? null : (findAgentBin(runtime) ?? (await installAgent(pinned)));
  const own = bin === null ? '' : `, bin: "${bin}"`;
  const project = createProject({
    env: { MODEL_KEY: 'scripted-key' },
    config: `runtimes:\n  ${runtime}: { endpoint: "${server.url}", apiKey: env:MODEL_KEY, model: scripted-model${own} }\n`,
  });
  return { ...project, asked: () => JSON.stringify(server.modelRequests().map(({ body }) => body)) };
}

describe('the tool hand_off', { timeout: 180_000 }, () => {
  it.each(['native', 'pi', 'codex'])('is offered to %s, and the last of two counts', async (runtime) => {
    const project = await createScripted(runtime);
    const ended = await handOff(project, '--runtime', runtime, '--branch', 'work', 'write hello.txt');
    expect(ended).toMatchObject({ status: 'done', reply: 'Done.' });
    expect(ended.handoff).toMatchObject({
      ...{ status: 'complete', by: 'agent', summary: 'hello.txt is written.', filesChanged: ['hello.txt'] },
      metrics: { linesAdded: 1, filesCreated: 1, toolCallCount: 3 },
    });
    expect(ended.handoff.metrics.tokensUsed).toBeGreaterThan(0);
    const warnings = (await project.events(ended.runId)).filter(({ type }) => type === 'warning');
    expect(warnings.map(({ message }) => message)).toContain(
      'the agent handed off 2 times; the last one counts',
    );
  });

  it.each([
    ['codex', call('great', 'Done!'), '"status" must be one of "complete", "partial", "blocked", "failed"'],
    ['native', call('complete', ''), '"summary" must be a text with 1 to 65536 characters; it is ""'],
  ])('reports to the model of %s in words which field is wrong', async (runtime, wrong, words) => {
    const project = await createScripted(runtime, [wrong, call('complete', 'It is done.'), { say: 'Done.' }]);
    const { handoff } = await handOff(project, '--runtime', runtime, '--branch', 'work', 'do it');
    expect(handoff).toMatchObject({ status: 'complete', by: 'agent', summary: 'It is done.' });
    const asked = project.asked().replaceAll('\\', '');
    expect(asked.includes(`The hand-off was not taken: ${words}`)).toBe(true);
  });

  const overwrite = (command: string) => ({ tool: { intent: 'run-command' as const, command } });
  it.each([
    ['a call that is refused', call('great', 'Wonderful.')],
    ['a file without a status', overwrite('echo "{}" > .caisson/handoff.json')],
    ['a file that is no JSON', overwrite('echo "{" > .caisson/handoff.json')],
    ['a deleted file', overwrite('rm .caisson/handoff.json')],
  ])('has the last valid word: %s after it changes nothing', async (_, later) => {
    const project = await createScripted('native', [call('complete', 'All done.'), later, { say: 'Done.' }]);
    const options = ['--runtime', 'native', '--mode', 'full-auto', '--branch', 'work'];
    const { handoff } = await handOff(project, ...options, 'do it');
    expect(handoff).toMatchObject({ status: 'complete', by: 'agent', summary: 'All done.' });
    expect(handoff).not.toHaveProperty('problem');
  });
});
