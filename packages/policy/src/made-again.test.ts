import { describe, expect, it } from 'vitest';
import { classifyCommand } from './classify-command.ts';
import { evaluateCommand } from './evaluate.ts';

const classOf = (command: string): string => classifyCommand(command).actionClass;

describe('deleting what is made again', () => {
  it.each([
    'rm -rf node_modules dist .next coverage',
    'rm -rf packages/*/dist ./target/debug/incremental *.egg-info',
    'rm -f *.o a.out',
    'rm -rf node_modules package-lock.json && npm install',
    'rm -f /tmp/heap-profile-*.out',
    'rm -rf "${TMPDIR:-/tmp}/my-test"',
    `tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT`,
    'cleanup() { rm -rf "$tmp"; }; trap cleanup EXIT; tmp=$(mktemp -d)',
    'for d in dist build; do rm -rf "$d"; done',
    'npx rimraf dist',
    `docker run --rm -v "$PWD":/w node:22 sh -c 'cd /w && rm -rf node_modules'`,
    `find . -name '*.pyc' -delete`,
    `find . -type d -name __pycache__ -prune -exec rm -rf {} +`,
    `find . \\( -name '*.o' -o -name '*.obj' \\) -delete`,
    `find . -path ./.git -prune -o -name '*.pyc' -exec rm {} +`,
    `find . -name '*.pyc' -print0 | xargs -0 rm -f`,
    `python3 -c "import shutil; shutil.rmtree('build', ignore_errors=True)"`,
    `node -e "require('fs').rmSync('dist', {recursive: true, force: true})"`,
  ])('is a command like any other: %s', (command) => {
    expect(classOf(command)).toBe('bash_exec');
  });

  it.each([
    ['a way back', 'rm -rf node_modules/../src'],
    ['a way up', 'rm -rf dist/../../x'],
    ['a word more', 'rm -rf build src'],
    ['the machine beside it', 'rm -rf node_modules /etc'],
    ['an unknown name', 'rm -rf "$DIST"'],
    ['an unknown part', 'rm -rf dist/$x'],
    ['a pattern that reaches more', 'rm -rf dist*'],
    ['braces', 'rm -rf {dist,src}'],
    ['another folder', 'cd .. && rm -rf dist'],
    ['the root', 'cd / && rm -rf build'],
    ['a home', 'rm -rf ~/node_modules'],
    ['all of /tmp', 'rm -rf /tmp/*'],
    ['all of /tmp, from inside', 'cd /tmp && rm -rf *'],
    ['anything below /tmp', 'rm -rf /tmp/$x'],
    ['a folder of sources with such a name', 'rm -rf src/build'],
    ['what was moved there', 'mv src dist && rm -rf dist'],
    ['what was moved into a temporary folder', 'd=$(mktemp -d); mv src "$d"; rm -rf "$d"'],
    ['what a link leads to', 'ln -s ../src build && rm -rf build/*'],
    [
      'the ninth word of a loop',
      'for d in dist build out a.out .next coverage target .cache src; do rm -rf $d; done',
    ],
    ['another branch', `find . -name '*.pyc' -o -delete`],
    ['an action before its test', `find . -delete -name '*.pyc'`],
    ['a test turned round', `find . -not \\( -name '*.pyc' \\) -delete`],
    ['a bracket that lets all in', `find . \\( -name '*.pyc' -o -type f \\) -delete`],
    ['the second of two names', `find . -name '*.pyc' -o -name '*.py' -exec rm {} +`],
    ['a word besides what is found', `find . -name '*.pyc' -exec rm -rf src {} +`],
    ['a way back from what is found', `find . -name dist -exec rm -rf {}/../src \\;`],
    ['the workspace in a container', `docker run --rm -v "$PWD":/w node:22 rm -rf /w/src`],
    ['all of the workspace in a container', `docker run --rm -v "$PWD":/w node:22 sh -c 'rm -rf /w/*'`],
    ['another machine', `ssh prod 'rm -rf dist'`],
    ['what git moved there', 'git mv src dist && rm -rf dist'],
    ['a temporary name that is set again', 'd=$(mktemp -d); d=~; rm -rf "$d"'],
    ['a handler whose name is set again', 'c() { rm -rf "$d"; }; d=$(mktemp -d); d=~; trap c EXIT'],
    ['what lies behind links', 'find -L dist -delete'],
    ['a second call', `python3 -c "import shutil; shutil.rmtree('build'); shutil.rmtree('src')"`],
    ['another folder in code', `python3 -c "import shutil, os; os.chdir('..'); shutil.rmtree('build')"`],
    ['a choice in code', `python3 -c "import shutil; shutil.rmtree('build' if 0 else 'src')"`],
    ['a plain file', 'rm README.md'],
    ['a lock alone', 'rm package-lock.json'],
  ])('is not a cloak for %s', (_, command) => {
    expect(['file_delete', 'bash_destructive', 'system_modify']).toContain(classOf(command));
  });

  it('is not what a workspace below /tmp is', () => {
    const place = { workspace: '/tmp/area/app' };
    expect(classifyCommand('rm -rf /tmp/area/app', place).actionClass).toBe('bash_destructive');
    expect(classifyCommand('rm -rf /tmp/area', place).actionClass).toBe('bash_destructive');
    expect(classifyCommand('rm -rf /tmp/area/app/src', place).actionClass).toBe('bash_destructive');
    expect(classifyCommand('rm -rf /tmp/area/app/dist', place).actionClass).toBe('bash_exec');
  });

  it('is still a deletion to a rule of caisson.yaml', () => {
    const rules = [{ path: 'dist/**', action: 'no-delete', reason: 'served from here' } as const];
    const judged = evaluateCommand({ mode: 'full-auto', rules, command: 'rm -rf dist' });
    expect(judged).toMatchObject({ decision: 'deny', reason: 'served from here' });
  });
});
