/** Each real program in an npm project, against a model server that is not the testkit's: tests, an edit, then `continue`. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject } from '../e2e/project.ts';
import { KEY } from './agent-run.ts';
import { isSkipped, prepareAgent } from './agent-under-test.ts';
import { REPLY, startForeignModel } from './foreign-model.ts';

const AGENTS = ['claude-code', 'codex', 'gemini', 'opencode', 'pi'];

if (isSkipped) process.stderr.write('CAISSON_SKIP_AGENTS=1: no agent works in the npm project.\n');
describe.skipIf(isSkipped)('an npm project with installed packages', () => {
  it.each(AGENTS)('%s runs its tests, edits a file, and goes on with both', async (name) => {
    const model = await startForeignModel();
    onTestFinished(() => model.stop());
    const agent = await prepareAgent(name);
    const project = createProject({ env: { MODEL_KEY: KEY }, config: agent.config(model.url) });
    project.write('.gitignore', 'node_modules\n.env\n');
    project.write('package.json', '{"name":"app","scripts":{"test":"node test.js"}}');
    project.write('test.js', 'console.log("passed with", require("is-odd")(3));\n');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', 'is-odd@3.0.1'], { cwd: project.root });
    project.git('add', '.');
    project.git('commit', '-qm', 'app');
    project.write('.env', 'TOKEN=of-the-user\n');

    const first = await project.run('--runtime', name, 'look: task=test run=first');
    expect([first.status, first.reply], JSON.stringify(first.failure)).toEqual(['done', REPLY]);
    const { stdout: patch } = await project.caisson('diff', first.runId);
    expect(patch).toContain('+passed with true');
    expect(patch).toContain('+// checked');
    expect(patch).not.toContain('of-the-user');

    const words = ['continue', '-o', 'json', first.runId, 'more: task=further run=second'];
    const next = JSON.parse((await project.caisson(...words)).stdout) as typeof first;
    expect([next.status, next.reply], JSON.stringify(next.failure)).toEqual(['done', REPLY]);
    const { stdout: both } = await project.caisson('diff', next.runId);
    expect(both.match(/^\+passed with true$/gm)).toHaveLength(3);
    expect(both.match(/^\+\/\/ checked$/gm)).toHaveLength(2);
    expect(model.strange).toEqual([]);
  });
});
