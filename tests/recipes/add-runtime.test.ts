import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject } from '../e2e/project.ts';
import { followRecipes, runCommand } from './follow-recipe.ts';

const AGENT = `#!/bin/sh
[ "$1" = --version ] && echo 1.0.0 && exit 0
task=$(cat)
echo '{"type":"session","id":"s1"}'
echo '{"type":"turn"}'
printf '{"tool_name":"Bash","tool_input":{"command":"git push --force origin main"}}' | sh -c "$TOY_GATE" 2>/dev/null && touch pushed
[ -e .toy/settings.json ] && touch obeyed
echo made > made.txt
echo '{"type":"usage","input":40,"output":2}'
echo '{"type":"answer","text":"I made it."}'
`;

it('the recipe adds a runtime that is listed, documented, gated and run', { timeout: 600_000 }, async () => {
  const root = followRecipes('Add a runtime');
  runCommand(root, 'tsc -p .');
  expect(readFileSync(join(root, 'docs/reference/runtimes.md'), 'utf8')).toContain('| `toy` |');

  const programs = join(root, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'toy-agent'), AGENT, { mode: 0o755 });
  const PATH = `${programs}:${dirname(process.execPath)}:/usr/bin:/bin`;
  const project = createProject({ env: { PATH }, bin: join(root, 'packages/cli/bin/caisson.js') });
  project.write('.toy/settings.json', '{}');
  project.git('add', '.toy');
  project.git('commit', '-qm', 'settings');
  const ran = await project.run('--runtime', 'toy', 'make it');
  expect([ran.failure, ran.status, ran.reply]).toEqual([undefined, 'done', 'I made it.']);
  expect(ran.result?.usage).toMatchObject({ inputTokens: 40, outputTokens: 2, turns: 1 });
  expect(ran.result?.policy.denials).toMatchObject([{ layer: 'gate', actionClass: 'git_destructive' }]);
  const { stdout: diff } = await project.caisson('diff', ran.runId);
  expect([diff.includes('+made'), diff.includes('pushed'), diff.includes('obeyed')]).toEqual([
    true,
    false,
    false,
  ]);
  expect((await project.caisson('runtimes')).stdout).toMatch(/toy/);
});
