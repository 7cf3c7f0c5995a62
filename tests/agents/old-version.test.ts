import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createProject } from '../e2e/project.ts';

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'old-version-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A program as npm installs it: a package of its own, and a link to its entry. */
function installFromNpm(version: string): string {
  const folder = makeFolder();
  const home = join(folder, 'node_modules/@google/gemini-cli');
  mkdirSync(join(home, 'dist'), { recursive: true });
  mkdirSync(join(folder, 'node_modules/.bin'));
  const manifest = { name: '@google/gemini-cli', version, bin: { gemini: 'dist/index.js' } };
  writeFileSync(join(home, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(home, 'dist/index.js'), '#!/bin/sh\necho started; exit 7\n', { mode: 0o755 });
  symlinkSync('../@google/gemini-cli/dist/index.js', join(folder, 'node_modules/.bin/gemini'));
  return join(folder, 'node_modules/.bin/gemini');
}

/** A program that only itself can say which version it is. */
function installAlone(version: string): string {
  const file = join(makeFolder(), 'gemini');
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo "gemini ${version}" && exit\necho started; exit 7\n`;
  writeFileSync(file, script, { mode: 0o755 });
  return file;
}

const createProjectWith = (bin: string) =>
  createProject({
    env: { MODEL_KEY: 'k' },
    config: `runtimes:\n  gemini: { bin: "${bin}", endpoint: "http://127.0.0.1:9", apiKey: "env:MODEL_KEY" }\n`,
  });
const RUN = ['run', '--runtime', 'gemini', 'anything'];
const runWith = (bin: string) => createProjectWith(bin).caisson(...RUN);

it.each([
  ['from npm', installFromNpm],
  ['of another installation', installAlone],
])('an older version %s than can be gated is refused with its number and what to do', async (_, install) => {
  const { code, stderr } = await runWith(install('0.12.0'));
  expect(code).not.toBe(0);
  expect(stderr).toMatch(
    /Gemini CLI 0\.12\.0 is too old: Caisson can gate its calls and read its ending only from version \d+\.\d+\.\d+ on/,
  );
  expect(stderr).toContain('npm install -g @google/gemini-cli');
  expect(stderr).not.toContain('started');
});

it.each([
  ['from npm', installFromNpm],
  ['of another installation', installAlone],
])('a newer version %s than the ones that were tried is started', async (_, install) => {
  const { stdout, stderr } = await runWith(install('99.0.0'));
  expect(stdout + stderr).toContain('exited with code 7');
});

it('a file of the project is started in the sandbox only, also to ask for its version', async () => {
  const mark = join(makeFolder(), 'started-outside');
  const project = createProjectWith('./gemini');
  project.write('gemini', `#!/bin/sh\ntouch ${mark}\necho 0.12.0; exit 7\n`);
  chmodSync(join(project.root, 'gemini'), 0o755);
  await project.trust();
  const { stdout, stderr } = await project.caisson(...RUN);
  expect([existsSync(mark), stdout + stderr]).toEqual([false, expect.stringContaining('exited with code 7')]);
});
