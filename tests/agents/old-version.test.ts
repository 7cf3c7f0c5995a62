import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createProject } from '../e2e/project.ts';

/** A program as npm installs it: a package of its own, and a link to its entry. */
function installProgram(version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'old-version-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'node_modules/@google/gemini-cli');
  mkdirSync(join(home, 'dist'), { recursive: true });
  mkdirSync(join(folder, 'node_modules/.bin'));
  const manifest = { name: '@google/gemini-cli', version, bin: { gemini: 'dist/index.js' } };
  writeFileSync(join(home, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(home, 'dist/index.js'), '#!/bin/sh\necho started; exit 7\n');
  chmodSync(join(home, 'dist/index.js'), 0o755);
  symlinkSync('../@google/gemini-cli/dist/index.js', join(folder, 'node_modules/.bin/gemini'));
  return join(folder, 'node_modules/.bin/gemini');
}

const runWith = (version: string) =>
  createProject({
    env: { MODEL_KEY: 'k' },
    config: `runtimes:\n  gemini: { bin: "${installProgram(version)}", endpoint: "http://127.0.0.1:9", apiKey: "env:MODEL_KEY" }\n`,
  }).caisson('run', '--runtime', 'gemini', 'anything');

it('a version from before the ones that can be gated is refused with its number and what to do', async () => {
  const { code, stderr } = await runWith('0.12.0');
  expect(code).not.toBe(0);
  expect(stderr).toMatch(
    /Gemini CLI 0\.12\.0 is too old: Caisson can gate its calls and read its ending only from version \d+\.\d+\.\d+ on/,
  );
  expect(stderr).toContain('npm install -g @google/gemini-cli');
  expect(stderr).not.toContain('started');
});

it('a newer version than the ones that were tried is started', async () => {
  const { stdout, stderr } = await runWith('99.0.0');
  expect(stdout + stderr).toContain('exited with code 7');
});
