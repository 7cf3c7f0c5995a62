/** Settings of a repository as an agent of an unknown kind sees them: an adapter of the user's own. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, finish, ROOT, type Project, trustProject } from './project.ts';

function projectWith(script: string, config = ''): Project {
  const project = createProject({
    config: `runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\n${config}`,
  });
  project.write(
    'adapter.mjs',
    `const printed = [];
export default {
  name: 'mine',
  command: () => ({ argv: ['/bin/sh', '-c', ${JSON.stringify(script)}], env: {}, stdin: null, files: [] }),
  createStream: () => ({
    line: (text) => { printed.push(text); return []; },
    end: () => ({ kind: 'answered', reply: printed.join('\\n') }),
  }),
};
`,
  );
  for (const path of [
    '.claude/settings.json',
    '.claude/skills/theirs/SKILL.md',
    '.codex/config.toml',
    '.mcp.json',
  ])
    project.write(path, 'theirs\n');
  project.write('.gemini/skills/theirs/SKILL.md', 'a prompt\n');
  project.write('.claude/CLAUDE.md', 'a prompt\n');
  project.git('add', '-A', '-f');
  project.git('commit', '-qm', 'settings');
  return project;
}

const LOOK =
  'cat .claude/settings.json .codex/config.toml .claude/skills/theirs/SKILL.md .mcp.json .claude/CLAUDE.md .gemini/skills/theirs/SKILL.md 2>/dev/null';
const SEEN = '{}\na prompt\na prompt';

it('are not seen and cannot be made, and neither shows in the patch, in a worktree and in place', async () => {
  const script = `${LOOK}; mkdir -p .pi; echo x > .pi/settings.json; echo x > .gemini/settings.json; echo work > work.txt; git add -A; git commit -qm all; true`;
  for (const where of ['worktree', 'in-place']) {
    const project = projectWith(script);
    const options = where === 'in-place' ? ['--workspace', 'in-place'] : [];
    const ran = await project.run('--runtime', 'mine', ...options, 'look');
    expect([where, ran.failure, ran.reply]).toEqual([where, undefined, SEEN]);
    const { stdout: diff } = await project.caisson('diff', ran.runId);
    expect([...diff.matchAll(/^diff --git a\/(\S+)/gm)].map(([, path]) => path)).toEqual(['work.txt']);
    expect(readFileSync(join(project.root, '.claude/settings.json'), 'utf8')).toBe('theirs\n');
    for (const made of ['.pi', '.opencode', '.qwen'])
      expect(existsSync(join(project.root, made))).toBe(false);
  }
}, 60_000);

it('are not seen above the folder of a project in a larger repository either', async () => {
  const project = projectWith(`cd ../..; ${LOOK}; ls -A apps/one`);
  mkdirSync(join(project.root, 'apps/one'), { recursive: true });
  project.write(
    'apps/one/caisson.yaml',
    'runtimes: { mine: { adapter: ../../adapter.mjs, bin: /bin/sh } }\n',
  );
  project.write('apps/one/.codex/config.toml', 'theirs\n');
  project.git('add', '-A', '-f');
  project.git('commit', '-qm', 'app');
  await trustProject(join(project.root, 'apps/one'), project.env);
  const words = ['run', '-o', 'json', '--runtime', 'mine', 'look'];
  const cli = await finish(
    spawn(process.execPath, [join(ROOT, 'packages/cli/bin/caisson.js'), ...words], {
      cwd: join(project.root, 'apps/one'),
      env: project.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const { reply } = JSON.parse(cli.stdout) as { reply: string };
  expect(reply).toContain(SEEN);
  expect(reply).not.toContain('theirs');
}, 60_000);

it("a capability's own skills stay visible", async () => {
  const project = projectWith(
    `${LOOK}; cat .claude/skills/ours/SKILL.md`,
    'agents: { skilled: { runtime: mine, capabilities: [one] } }\n',
  );
  project.write('cap/.claude/skills/ours/SKILL.md', 'ours\n');
  const added = await project.caisson('capabilities', 'register', 'one', 'cap');
  expect(added.stderr).toBe('');
  const ran = await project.run('--agent', 'skilled', 'look');
  expect([ran.failure, ran.reply]).toEqual([undefined, `${SEEN}\nours`]);
}, 60_000);

it('without a sandbox they are seen, and the run says so', async () => {
  const project = projectWith('cat .codex/config.toml');
  const ran = await project.run('--runtime', 'mine', '--sandbox', 'none', 'look');
  expect([ran.failure, ran.reply]).toEqual([undefined, 'theirs']);
  const warnings = (await project.events(ran.runId)).filter(({ type }) => type === 'warning');
  expect(JSON.stringify(warnings)).toMatch(/may obey settings of the repository: .*\.codex/);
}, 60_000);
