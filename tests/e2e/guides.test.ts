import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readBlocks } from './guide-blocks.ts';
import { createProject, ROOT } from './project.ts';

/** What an example left running ends with it, also when it failed. */
const CLEAN_UP = `trap 'kill $(jobs -p) 2> /dev/null || true' EXIT`;
const BIN = join(ROOT, 'packages/cli/bin/caisson.js');

/** `yaml NAME` is a file, `sh` is run in one shell that stops at the first failure. */
it.each([
  'trust',
  'registry',
  'questions',
  'callbacks',
  'evidence',
  'verify',
  'folders',
  'follow',
  'events',
  'mcp',
  'top',
  'daemon',
  'dashboard',
  'residents',
])(
  'every example of the guide "%s" works as it is written',
  (guide) => {
    const project = createProject();
    const tools = join(dirname(project.root), 'tools');
    mkdirSync(tools);
    writeFileSync(join(tools, 'caisson'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
    chmodSync(join(tools, 'caisson'), 0o755);
    const blocks = readBlocks(guide);
    for (const { language, name, text } of blocks)
      if (language === 'yaml' && name !== '') project.write(name, text);
    const script = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
    expect(script.length).toBeGreaterThan(0);
    const out = execFileSync('bash', ['-e', '-c', [CLEAN_UP, ...script].join('\n')], {
      cwd: project.root,
      env: {
        ...project.env,
        PATH: `${tools}:${project.env['PATH'] ?? ''}`,
        EXAMPLES: join(ROOT, 'examples'),
      },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 55_000, // its clean-up follows the signal; the limit of the test cannot end a call that blocks
    });
    expect(out).not.toBe('');
  },
  60_000,
);
