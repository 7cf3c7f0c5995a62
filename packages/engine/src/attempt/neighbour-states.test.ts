import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findNeighbourStates } from './neighbour-states.ts';

function createNeighbours(): string {
  const root = mkdtempSync(join(tmpdir(), 'caisson-neighbours-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const project of ['mine', 'theirs', 'group/inner', 'group']) {
    mkdirSync(join(root, project, '.caisson'), { recursive: true });
    writeFileSync(join(root, project, '.caisson/ledger.db'), '');
  }
  mkdirSync(join(root, 'other/.caisson'), { recursive: true });
  return root;
}

describe('the state folders of other projects', () => {
  it('are found beside the project and beside the folders above it, never its own', () => {
    const root = createNeighbours();
    const beside = findNeighbourStates(join(root, 'mine'), '/nowhere', []);
    expect(beside.filter((path) => path.startsWith(root))).toEqual([
      join(root, 'group/.caisson'),
      join(root, 'theirs/.caisson'),
    ]);
    const below = findNeighbourStates(join(root, 'group/inner'), '/nowhere', []);
    expect(below.filter((path) => path.startsWith(root)).toSorted()).toEqual(
      ['group/.caisson', 'mine/.caisson', 'theirs/.caisson'].map((path) => join(root, path)),
    );
  });

  it('are not looked for where a run sees nothing anyway', () => {
    const root = createNeighbours();
    for (const [home, hidden] of [
      [root, []],
      ['/nowhere', [root]],
    ] as const)
      expect(
        findNeighbourStates(join(root, 'mine'), home, hidden).filter((path) => path.startsWith(root)),
      ).toEqual([]);
  });
});
