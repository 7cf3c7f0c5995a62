/** The one table of what git obeys in a git dir; the rest of a git dir is a repository's data. */
export interface GitDirControl {
  readonly name: string;
  /** Stays read-only while an agent works, where the agent needs the rest of the git dir. */
  readonly staysReadOnly?: true;
  /** Every repository has one, so only a change of it says anything. */
  readonly isInEveryRepository?: true;
  /** A folder of git dirs. */
  readonly holdsGitDirs?: true;
}

export const GIT_DIR_CONTROLS: readonly GitDirControl[] = [
  { name: 'config', staysReadOnly: true },
  { name: 'hooks', staysReadOnly: true },
  { name: 'config.worktree' },
  { name: 'commondir' },
  { name: 'info', isInEveryRepository: true },
  { name: 'modules', holdsGitDirs: true },
];

export const READ_ONLY_GIT_CONTROLS: readonly string[] = GIT_DIR_CONTROLS.flatMap(({ name, staysReadOnly }) =>
  staysReadOnly === true ? [name] : [],
);
