import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseConfigText } from './config-text.ts';

function createFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'config');
}

/** What git lists; null when it refuses the file. */
function askGit(file: string, text: string): [string, string][] | null {
  writeFileSync(file, text);
  const asked = spawnSync('git', ['config', '--file', file, '--no-includes', '--list', '-z'], {
    encoding: 'utf8',
  });
  if (asked.status !== 0) return null;
  return asked.stdout
    .split('\0')
    .filter(Boolean)
    .map((entry) => {
      const at = entry.indexOf('\n');
      return at === -1 ? [entry, 'true'] : [entry.slice(0, at), entry.slice(at + 1)];
    });
}

describe('a config file', () => {
  it.each([
    ['[user]\n\tname = Some One\n\temail = some@example.invalid ; a remark\n'],
    ['\ufeff[core]\r\n\tautocrlf = true\r\n'],
    ['[Core]\n  FileMode\n  EOL=lf # remark\n[remote "Ori\\"gin\\\\x"] url = a:b'],
    ['[a.B]\nc = "  kept  " and " more "  \n'],
    ['[a]\nlong = one \\\n  two\\\n three\nescaped = \\t\\n\\"\\\\\n'],
    ['# only a remark'],
    ['[a]\nempty =\nquoted = ""\nhash = "#;"\n'],
    ['[include]\n\tpath = ~/other\n'],
    [''],
  ])('is read as git reads it: %j', (text) => {
    const file = createFile();
    const expected = askGit(file, text);
    expect(expected).not.toBeNull();
    expect(parseConfigText(text)).toEqual(expected);
  });

  it.each([
    ['[a]\nb = "open\n'],
    ['key = 1\n'],
    ['[a\nb = 1\n'],
    ['[a]\nb = \\x\n'],
    ['[a]\nb c\n'],
    ['[a]\n1 = 2\n'],
    ['[a]\nb = \0\n'],
    ['[a]\nb = x\ty\n'],
  ])('is left to git if it is odd: %j', (text) => expect(parseConfigText(text)).toBeNull());

  it('is never read in another way than git does', () => {
    const file = createFile();
    const piece = fc.constantFrom(
      ...[
        '[a]',
        '[b "C d"]',
        '[x.Y]',
        '\n',
        '\n',
        '\n',
        'key',
        'Name-2',
        ' = ',
        '=',
        'value',
        ' ',
        '\t',
        '"',
        '\\',
        '\\n',
        '#',
        ';',
        '\r\n',
        'é',
        '1',
        '[',
        ']',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const text = pieces.join('');
        const parsed = parseConfigText(text);
        if (parsed !== null) expect(parsed).toEqual(askGit(file, text));
      }),
      { numRuns: 300 },
    );
  });
});
