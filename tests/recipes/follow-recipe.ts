/** Does what a recipe of CONTRIBUTING.md says, in a copy of the tree. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../e2e/project.ts';

interface Block {
  readonly language: string;
  /** The file that the block is about; `null` for commands. */
  readonly path: string | null;
  readonly lines: readonly string[];
}

/** Follows every step of the recipes in the tree. */
export function followRecipes(root: string, titles: readonly string[]): void {
  for (const block of titles.flatMap(readRecipe)) follow(root, block);
}

/** The blocks of the section, without the indentation of the list they stand in. */
function readRecipe(title: string): Block[] {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const section = page.split(/^### /m).find((part) => part.startsWith(`${title}\n`));
  if (section === undefined) throw new Error(`CONTRIBUTING.md has no recipe "${title}"`);
  return [...section.matchAll(/^( *)```(\w+)\n(.*?)^ *```$/gms)].map(
    ([, indent = '', language = '', body = '']) => {
      const lines = body
        .split('\n')
        .slice(0, -1)
        .map((line) => line.slice(indent.length));
      const path = /^\/\/ (\S+\.\w+)$/.exec(lines[0] ?? '')?.[1] ?? null;
      const first = path === null ? 0 : lines[1] === '' ? 2 : 1; // a blank line ends the comment with the path
      return { language, path, lines: lines.slice(first) };
    },
  );
}

function follow(root: string, { language, path, lines }: Block): void {
  if (path === null) for (const line of lines) runCommand(root, line);
  else if (language === 'diff') addLines(join(root, path), lines);
  else {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${lines.join('\n')}\n`);
  }
}

/** Each `+` line is added behind the quoted line before it, which must be in the file exactly once; a `-` line goes. */
function addLines(file: string, lines: readonly string[]): void {
  const text = readFileSync(file, 'utf8').split('\n');
  let at = -1;
  for (const line of lines) {
    if (line.startsWith('+')) text.splice((at += 1), 0, line.slice(1));
    else {
      const quoted = line.slice(1);
      if (text.filter((each) => each === quoted).length !== 1)
        throw new Error(`${file} does not have the line ${JSON.stringify(quoted)} exactly once`);
      at = text.indexOf(quoted);
      if (line.startsWith('-')) text.splice(at--, 1);
    }
  }
  writeFileSync(file, text.join('\n'));
}

/** Fails with what the command printed. */
export function runCommand(root: string, line: string): void {
  const PATH = `${join(root, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`;
  const ran = spawnSync('/bin/sh', ['-c', line], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH },
  });
  if (ran.status !== 0) throw new Error(`${line} failed: ${ran.stdout}${ran.stderr}`);
}

/** Copies what git would commit; returns the root of the copy, which the caller removes. */
export function copyTree(): string {
  const root = mkdtempSync(join(tmpdir(), 'caisson-recipe-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = listed.split('\0').filter((path) => path !== '' && !path.startsWith('tests/vectors/'));
  for (const path of files) cpSync(join(ROOT, path), join(root, path), { recursive: true });
  linkModules(root);
  return root;
}

/** Everything that is installed, but our own packages are those of the copy. */
function linkModules(root: string): void {
  const folder = join(root, 'node_modules');
  mkdirSync(join(folder, '@caisson'), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@caisson') symlinkSync(join(ROOT, 'node_modules', name), join(folder, name));
  for (const name of readdirSync(join(ROOT, 'node_modules/@caisson')))
    symlinkSync(join(root, 'packages', name), join(folder, '@caisson', name));
}
