/**
 * Judges a change by the table of risky paths: the one filter for every exit of a run.
 *
 * F1  Names are compared in every spelling of them; the bytes of a name never change.
 * F2  A link named like the folder of a risky file brings it in under another name, and so does a file that such a link
 *     of the workspace already leads to.
 * F3  What preparation put there and did not change since is no change (`known`).
 */
import {
  findChangedParts,
  findRisk,
  findRiskBelow,
  leavesProject,
  type OwnControl,
  type RiskGrade,
  type RiskyPath,
} from '@caisson/protocol';
import { createControlTest, riskOf, riskOfName, strictestOf, type FoundRisk } from './control-files.ts';
import { isPlantedGitControl, maybeGitControls } from './git-controls.ts';
import { createGit, readBlobs, whichExist, listRenamedChanges, type TreeChange } from '../git/index.ts';
import { showPath } from '../platform/index.ts';

export interface RiskyChange {
  /** As readable text. */
  readonly path: string;
  readonly grade: RiskGrade;
  /** The end of a sentence that begins with the path. */
  readonly why: string;
  readonly change: TreeChange;
}

export interface JudgeOptions {
  /** A git dir of ours that has the objects. */
  readonly gitDir: string;
  readonly changes: readonly TreeChange[];
  /** The project's folder as the author of the changes sees it. */
  readonly mountPath: string;
  /** Risky files of this one project. */
  readonly own?: readonly OwnControl[] | undefined;
  /** The files themselves, if they still exist. */
  readonly workspace?: string;
  /** If there are no files: the tree that the changes led to. */
  readonly commit?: string;
  /** F3: path to the id of what was put there. */
  readonly known?: ReadonlyMap<string, string>;
}

const MAX_READ_BYTES = 1024 * 1024;
const LINK = '120000';

export async function judgeChanges(options: JudgeOptions): Promise<RiskyChange[]> {
  const { known, workspace } = options;
  const changes = options.changes.filter((change) => known?.get(change.path) !== change.newId);
  if (changes.length === 0) return [];
  const contents = await readContents(options.gitDir, changes);
  const isRisky =
    workspace === undefined ? createNameTest(options.own) : createControlTest(workspace, options.own);
  const disguised = await findDisguised(options, changes);
  return changes.flatMap((change) => {
    const { path, previousPath, newMode, newId, oldMode, oldId } = change;
    const risk = strictestOf(
      disguised.has(path) ? riskOf('never') : null,
      previousPath === undefined ? null : judgeLeaving(nameOf(previousPath)),
      judgeFile({
        name: nameOf(path),
        root: options.mountPath,
        isRisky,
        before: stateOf(oldMode, contents.get(oldId)),
        after: stateOf(newMode, contents.get(newId)),
      }),
    );
    return risk === null ? [] : [{ path: showPath(Buffer.from(path, 'latin1')), ...risk, change }];
  });
}

export interface JudgeTreesOptions extends Omit<JudgeOptions, 'changes'> {
  readonly from: string;
  readonly to: string;
}

/** Everything that differs between two trees, renames found, and what of it is risky. */
export async function judgeTrees(
  options: JudgeTreesOptions,
): Promise<{ readonly changes: readonly TreeChange[]; readonly risks: readonly RiskyChange[] }> {
  const { gitDir, from, to } = options;
  if (from === to) return { changes: [], risks: [] };
  const changes = await listRenamedChanges(gitDir, from, to);
  return { changes, risks: await judgeChanges({ ...options, changes }) };
}

/** One file before or after a change. `text`: its content or its target; null when it could not be read. */
export interface FileState {
  readonly kind: 'nothing' | 'file' | 'link';
  readonly text: string | null;
}

function stateOf(mode: string, text: string | null = null): FileState {
  if (isNothing(mode)) return { kind: 'nothing', text: null };
  return { kind: mode === LINK ? 'link' : 'file', text };
}

export type FileReader = (path: Buffer, withText: boolean) => Promise<FileState>;

/** The same for files that are about to be installed in a folder of the user. */
export async function judgeFiles(options: {
  readonly paths: readonly Buffer[];
  readonly root: string;
  readonly own: readonly OwnControl[];
  readonly before: FileReader;
  readonly after: FileReader;
}): Promise<(FoundRisk & { readonly path: string })[]> {
  const { root } = options;
  const isRisky = createControlTest(root, options.own);
  const found: (FoundRisk & { path: string })[] = [];
  for (const path of options.paths) {
    const name = path.toString('utf8');
    const isRead = findRisk(name)?.parts !== undefined;
    const after = await options.after(path, isRead);
    const before = isRead || after.kind === 'link' ? await options.before(path, isRead) : NOTHING;
    const risk = judgeFile({ name, root, isRisky, before, after });
    if (risk !== null) found.push({ path: showPath(path), ...risk });
  }
  return found;
}

const NOTHING: FileState = { kind: 'nothing', text: null };

interface FileChange {
  readonly name: string;
  readonly root: string;
  readonly isRisky: (path: string) => FoundRisk | null;
  readonly before: FileState;
  readonly after: FileState;
}

function judgeFile({ name, root, isRisky, before, after }: FileChange): FoundRisk | null {
  const risk = strictestOf(
    isRisky(name),
    after.kind === 'link' ? judgeLink(name, root, before, after) : null,
    after.kind === 'nothing' ? null : judgeParts(findRisk(name), before, after),
  );
  return after.kind === 'nothing' && risk?.grade === 'ask' ? null : risk;
}

/** For a commit without files: only names are known. */
function createNameTest(own: readonly OwnControl[] = []): (path: string) => FoundRisk | null {
  return (path) => {
    const ofProject = own
      .filter((control) => path === control.path || path.startsWith(`${control.path}/`))
      .map(({ grade }) => riskOf(grade));
    return strictestOf(...ofProject, riskOfName(path));
  };
}

function nameOf(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

function isNothing(mode: string): boolean {
  return /^0+$/.test(mode);
}

function judgeParts(entry: RiskyPath | null, before: FileState, after: FileState): FoundRisk | null {
  if (entry?.parts === undefined) return null;
  const parts =
    after.kind === 'link' || after.text === null
      ? ['all of it']
      : findChangedParts(entry.parts, before.kind === 'file' ? before.text : null, after.text);
  return parts.length === 0
    ? null
    : { grade: entry.grade, why: `changes ${parts.join(', ')}, obeyed by ${entry.obeyedBy}` };
}

/** A renamed control file is gone. */
function judgeLeaving(previous: string): FoundRisk | null {
  return findRisk(previous)?.grade === 'never' ? riskOf('never') : null;
}

function judgeLink(name: string, root: string, before: FileState, after: FileState): FoundRisk | null {
  const isSame = before.kind === 'link' && before.text !== null && before.text === after.text;
  if (!isSame && (after.text === null || leavesProject(name, after.text, root)))
    return { grade: 'never', why: 'is a link that leads out of the project' };
  const below = findRiskBelow(name); // F2
  return below === null ? null : riskOf(below.grade, below.obeyedBy);
}

/** What has to be read to judge: targets of links, and files of which only some members count. */
async function readContents(
  gitDir: string,
  changes: readonly TreeChange[],
): Promise<ReadonlyMap<string, string | null>> {
  const ids = changes.flatMap((change) => {
    if (change.newMode === LINK) return [change.newId];
    if (isNothing(change.newMode) || findRisk(nameOf(change.path))?.parts === undefined) return [];
    return [change.newId, ...(isNothing(change.oldMode) ? [] : [change.oldId])];
  });
  return await readBlobs(createGit({ cwd: gitDir, gitDir }), [...new Set(ids)], MAX_READ_BYTES);
}

/** Paths that git would obey in a folder that is a git dir without being called so. */
async function findDisguised(
  { gitDir, workspace, commit }: JudgeOptions,
  changes: readonly TreeChange[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const heads = new Map<string, string[]>();
  for (const { path } of changes) {
    if (workspace !== undefined) {
      if (isPlantedGitControl(workspace, nameOf(path))) found.add(path);
    } else {
      for (const folder of maybeGitControls(path)) heads.set(folder, [...(heads.get(folder) ?? []), path]);
    }
  }
  if (commit === undefined || heads.size === 0) return found;
  const git = createGit({ cwd: gitDir, gitDir });
  const folders = [...heads.keys()];
  const exist = await whichExist(
    git,
    folders.map((folder) => `${commit}:${folder === '' ? '' : `${folder}/`}HEAD`),
  );
  folders.forEach((folder, at) => {
    if (exist[at] === true) for (const path of heads.get(folder) ?? []) found.add(path);
  });
  return found;
}
