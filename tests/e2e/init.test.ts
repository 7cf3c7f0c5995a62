/** The first command in a project of one's own: it looks, and writes only what helps. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, makeState, type Project, type ProjectOptions } from './project.ts';

/** A project whose user has these agent programs. */
function createWith(agents: readonly string[], options: ProjectOptions = {}): Project {
  const project = createProject(options);
  const bin = join(project.env['HOME'] ?? '', 'bin');
  mkdirSync(bin);
  for (const name of agents) {
    writeFileSync(join(bin, name), '#!/bin/sh\necho 99.0.0\n');
    chmodSync(join(bin, name), 0o755);
  }
  project.env['PATH'] = `${bin}:${project.env['PATH'] ?? ''}`;
  return project;
}

const fileOf = (project: Project): string => join(project.root, 'caisson.yaml');

it('writes which of several agents runs, from words of ours alone, and never overwrites', async () => {
  const project = createWith(['codex', 'gemini']);
  project.env['GEMINI_API_KEY'] = 'dummy';
  const hostile = 'touch pwned"\nruntime: evil\n\u001b[31m# ';
  const scripts = { test: hostile, preinstall: 'touch pwned' };
  project.write('package.json', JSON.stringify({ name: hostile, scripts, packageManager: hostile }));
  project.write('pnpm-workspace.yaml', `packages:\n  - "${hostile}"\n`);
  const dry = await project.caisson('init', '--dry-run', '-o', 'json');
  expect(existsSync(fileOf(project))).toBe(false);
  const { stdout, code } = await project.caisson('init');
  const written = readFileSync(fileOf(project), 'utf8');
  expect([code, JSON.parse(dry.stdout)]).toEqual([
    0,
    expect.objectContaining({ isWritten: false, runtime: 'gemini', text: written }),
  ]);
  expect(written).toContain('runtime: "gemini"');
  expect(written).toContain('command: "pnpm test"');
  for (const text of [stdout, dry.stdout, written]) expect(text).not.toMatch(/pwned|evil|\u001b/);
  expect(existsSync(join(project.root, 'pwned'))).toBe(false);
  expect(stdout).toContain('gemini 99.0.0 uses the key in GEMINI_API_KEY');
  expect(stdout).toContain('codex 99.0.0 is refused: codex has no key for its model. Set OPENAI_API_KEY');
  expect(stdout).toContain('Next: caisson run "fix the flaky test" --verify "pnpm test"');
  expect((await project.caisson('config', 'runtime')).stdout).toBe('gemini\n');
  writeFileSync(fileOf(project), written.replaceAll(/^# (?=agents:| {2})/gm, ''));
  expect((await project.caisson('config')).stdout).toMatch(/agents\.fix\.verify.*pnpm test/);
  const again = await project.caisson('init');
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('exists already')]);
});

it('says that no file is needed: with one agent, and in an empty folder without git or agent', async () => {
  const one = createWith(['codex']);
  one.env['OPENAI_API_KEY'] = 'dummy';
  const bare = createWith([], { git: false });
  for (const project of [one, bare]) {
    const { code, stdout } = await project.caisson('init');
    expect([code, stdout]).toEqual([0, expect.stringContaining('No caisson.yaml is needed')]);
    expect(existsSync(fileOf(project)) || existsSync(join(project.root, '.caisson'))).toBe(false);
  }
  expect((await bare.caisson('init')).stdout).toMatch(
    /not in git.*tests +none found.*agents +none found\. Install one.*Next: caisson run -- CMD/s,
  );
  const asked = await one.caisson('init', '--runtime', 'nosuch');
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('there is no runtime "nosuch"')]);
});

it('knows that a folder with its own state is in the repository around it', async () => {
  const project = createWith([]);
  project.write('below/.env', 'KEY=1\n');
  const below = createProject({ at: join(project.root, 'below'), env: project.env });
  makeState(below);
  const { stdout } = await below.caisson('init', '--dry-run');
  expect(stdout).toContain('in git: each run gets its own worktree');
  expect(stdout).toContain('No caisson.yaml is needed');
});

it('closes a .env that runs would see, and reports a file with the wrong ending, as run and doctor do', async () => {
  const project = createWith([], { git: false });
  project.write('.env', 'KEY=1\n');
  project.write('caisson.yml', 'mode: suggest\n');
  const reported = /caisson\.yml is not read: rename it to caisson\.yaml\./;
  const refused = await project.caisson('init');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(reported)]);
  expect((await project.caisson('doctor')).stdout).toMatch(reported);
  const open = await project.caisson('run', '--', 'cat', '.env');
  expect([open.stdout, open.stderr]).toEqual(['KEY=1\n', expect.stringMatching(reported)]);
  rmSync(join(project.root, 'caisson.yml'));
  expect((await project.caisson('init')).stdout).toContain('Wrote');
  expect((await project.caisson('run', '--', 'cat', '.env')).stdout).toBe('');
});
