import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT_IN_RUNTIMES, ConfigFile } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../e2e/project.ts';

const FOLDER = join(ROOT, 'docs/guides/agents');

it('every runtime that ships has a guide', () => {
  const guides = globSync('*.md', { cwd: FOLDER }).filter((name) => name !== 'README.md');
  expect(guides.toSorted()).toEqual(BUILT_IN_RUNTIMES.map((name) => `${name}.md`).toSorted());
});

it.each(BUILT_IN_RUNTIMES)('every configuration in the guide of %s is one that Caisson takes', (name) => {
  const page = readFileSync(join(FOLDER, `${name}.md`), 'utf8');
  for (const [, block = ''] of page.matchAll(/^```yaml\n(.*?)^```$/gms)) {
    expect(ConfigFile.safeParse(parse(block)).error?.issues ?? []).toEqual([]);
  }
});
