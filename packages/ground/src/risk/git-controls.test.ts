import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GIT_DIR_CONTROLS } from '@caisson/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isPlantedGitControl, listHarmfulParts } from './git-controls.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'git-controls-'));
  execFileSync('git', ['init', '-q', '--bare', join(root, 'planted')]);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('a new repository has nothing harmful in it', () => {
  expect(listHarmfulParts(join(root, 'planted'))).toEqual([]);
});

it.each(GIT_DIR_CONTROLS.filter(({ isInEveryRepository }) => isInEveryRepository !== true))(
  '$name of the shared table is found in a git dir of another name',
  ({ name }) => {
    const path = join(root, 'planted', name);
    rmSync(path, { recursive: true, force: true });
    if (name === 'hooks' || name === 'modules') {
      mkdirSync(path);
      writeFileSync(join(path, 'pre-commit'), '#!/bin/sh\n');
    } else writeFileSync(path, '[core]\n\tfsmonitor = ./run-me\n');
    expect(listHarmfulParts(join(root, 'planted'))).toEqual([name]);
    expect(isPlantedGitControl(root, `planted/${name}`)).toBe(true);
  },
);
