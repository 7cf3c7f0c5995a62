import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { adoptStateFolder } from '../trust/index.ts';
import { acceptRoot, findProject, findProjectRoot, ProjectRefusedError } from './index.ts';

const isRoot = process.getuid?.() === 0;
const STRANGER = 31_234;

interface Stage {
  readonly base: string;
  readonly userState: string;
  /** Makes folders and empty files; a name with a slash at its end is a folder. */
  lay(...names: string[]): void;
  find(name: string, isStateElsewhere?: boolean): string;
}

function createStage(): Stage {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-root-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const userState = join(base, 'user');
  return {
    base,
    userState,
    lay(...names) {
      for (const name of names) {
        mkdirSync(join(base, name, name.endsWith('/') ? '.' : '..'), { recursive: true });
        if (!name.endsWith('/')) writeFileSync(join(base, name), '');
      }
    },
    find: (name, isStateElsewhere = false) =>
      findProjectRoot(join(base, name), { userState, isStateElsewhere }).slice(base.length + 1),
  };
}

/** A state folder that this user's Caisson knows. */
function makeOurs({ base, userState }: Stage, project: string): void {
  const stateDir = join(base, project, '.caisson');
  mkdirSync(join(stateDir, 'store'), { recursive: true, mode: 0o700 });
  chmodSync(stateDir, 0o700);
  const folders = { home: base, config: base, cache: base, data: base, state: userState };
  adoptStateFolder({ stateDir, projectRoot: join(base, project), folders });
}

describe('the project', () => {
  it('is the nearest folder with a config file or a state folder of ours, else the git top, else the folder', () => {
    const stage = createStage();
    stage.lay('a/b/c/');
    expect(stage.find('a/b/c')).toBe('a/b/c');
    stage.lay('a/.git/');
    expect(stage.find('a/b/c')).toBe('a');
    stage.lay('a/b/caisson.yaml');
    expect(stage.find('a/b/c')).toBe('a/b');
    makeOurs(stage, 'a/b/c');
    expect(stage.find('a/b/c')).toBe('a/b/c');
  });

  it('is never above the git top: of a repository, a worktree, a submodule', () => {
    const stage = createStage();
    stage.lay(
      'caisson.yaml',
      'clone/.git/',
      'clone/src/',
      'clone/sub/.git',
      'clone/sub/src/',
      'clone/caisson.yaml',
    );
    expect(stage.find('clone/src')).toBe('clone');
    expect(stage.find('clone/sub/src')).toBe('clone/sub');
    stage.lay('clone/sub/caisson.yaml');
    expect(stage.find('clone/sub/src')).toBe('clone/sub');
    rmSync(join(stage.base, 'clone/caisson.yaml'));
    expect(stage.find('clone/src')).toBe('clone');
  });

  it('of a monorepo is the nearest of several', () => {
    const stage = createStage();
    stage.lay('.git/', 'caisson.yaml', 'packages/a/caisson.yaml', 'packages/a/src/', 'packages/b/src/');
    expect([stage.find('packages/a/src'), stage.find('packages/b/src')]).toEqual(['packages/a', '']);
  });

  it('is found through a link to a folder inside it', () => {
    const stage = createStage();
    stage.lay('p/.git/', 'p/caisson.yaml', 'p/src/');
    symlinkSync(join(stage.base, 'p/src'), join(stage.base, 'link'));
    expect(stage.find('link')).toBe('p');
  });

  it.each(['.caisson/ledger.db', '.caisson/tmp/', '.caisson/store/'])(
    'is refused where an unknown state folder below it would change it: %s',
    (name) => {
      const stage = createStage();
      stage.lay('.git/', 'caisson.yaml', `sub/${name}`, 'sub/deep/');
      for (const folder of ['sub', 'sub/deep'])
        expect(() => stage.find(folder)).toThrow('sub/.caisson looks like');
      expect(stage.find('sub/deep', true)).toBe('');
      expect(findProject(join(stage.base, 'sub'), stage).root).toBe(join(stage.base, 'sub'));
    },
  );

  it('is not changed by a folder of that name that is no state folder, or by a file', () => {
    const stage = createStage();
    stage.lay('.git/', 'bundle/.caisson/setup.sh', 'other/.caisson');
    expect([stage.find('bundle'), stage.find('other')]).toEqual(['', '']);
  });
});

describe('a folder that others can write', () => {
  it('is not on the way up, sticky or not', () => {
    const stage = createStage();
    stage.lay('shared/caisson.yaml', 'shared/mine/');
    for (const mode of [0o1777, 0o777, 0o757]) {
      chmodSync(join(stage.base, 'shared'), mode);
      expect(stage.find('shared/mine')).toBe('shared/mine');
    }
    chmodSync(join(stage.base, 'shared'), 0o755);
    expect(stage.find('shared/mine')).toBe('shared');
  });

  it('is refused with its config file, until the user accepts it', () => {
    const stage = createStage();
    stage.lay('shared/caisson.yaml', 'shared/.git/');
    const shared = join(stage.base, 'shared');
    chmodSync(shared, 0o1777);
    expect(() => stage.find('shared')).toThrow(`other users can write ${shared}`);
    acceptRoot(shared, process.getuid?.() ?? 0, stage.userState);
    expect(stage.find('shared')).toBe('shared');
  });

  it('may be worked in while it has no config file', () => {
    const stage = createStage();
    stage.lay('shared/');
    chmodSync(join(stage.base, 'shared'), 0o1777);
    expect(stage.find('shared')).toBe('shared');
  });

  it('is one that a group with others in it can write, and not one of a group of the user alone', () => {
    if (!isRoot) return;
    const stage = createStage();
    stage.lay('p/caisson.yaml', 'p/.git/');
    chmodSync(join(stage.base, 'p'), 0o775);
    expect(stage.find('p')).toBe('p');
    chownSync(join(stage.base, 'p'), 0, 100);
    expect(() => stage.find('p')).toThrow(ProjectRefusedError);
  });

  it('does not matter for a config file that others can write itself: that is refused, too', () => {
    const stage = createStage();
    stage.lay('p/caisson.yaml', 'p/.git/');
    chmodSync(join(stage.base, 'p/caisson.yaml'), 0o666);
    expect(() => stage.find('p')).toThrow('p/caisson.yaml, so ');
  });
});

describe('a folder of another user', () => {
  it('ends the way up, is refused as a start, and may be accepted', () => {
    if (!isRoot) return;
    const stage = createStage();
    stage.lay('theirs/caisson.yaml', 'theirs/.git/', 'theirs/mine/');
    chownSync(join(stage.base, 'theirs'), STRANGER, STRANGER);
    expect(stage.find('theirs/mine')).toBe('theirs/mine');
    expect(() => stage.find('theirs')).toThrow(`belongs to user ${STRANGER}, and this is user 0`);
    acceptRoot(join(stage.base, 'theirs'), STRANGER, stage.userState);
    expect(stage.find('theirs')).toBe('theirs');
    chownSync(join(stage.base, 'theirs'), STRANGER + 1, STRANGER);
    expect(() => stage.find('theirs')).toThrow(`belongs to user ${STRANGER + 1}`);
  });

  it('is none of our repository either: a .git that they put above us does not count', () => {
    if (!isRoot) return;
    const stage = createStage();
    stage.lay('tmp/.git/', 'tmp/mine/');
    chmodSync(join(stage.base, 'tmp'), 0o1777);
    chownSync(join(stage.base, 'tmp/.git'), STRANGER, STRANGER);
    expect(stage.find('tmp/mine')).toBe('tmp/mine');
  });

  it('cannot be a config file, nor what one leads to', () => {
    if (!isRoot) return;
    const stage = createStage();
    stage.lay('p/.git/', 'theirs.yaml', 'q/.git/', 'q/caisson.yaml');
    chownSync(join(stage.base, 'theirs.yaml'), STRANGER, STRANGER);
    chownSync(join(stage.base, 'q/caisson.yaml'), STRANGER, STRANGER);
    symlinkSync('../theirs.yaml', join(stage.base, 'p/caisson.yaml'));
    for (const name of ['p', 'q']) expect(() => stage.find(name)).toThrow(`belongs to user ${STRANGER}`);
  });
});
