/** What stands in the way of a release, in sentences. */
export function findReleaseProblems({
  version,
  changelog,
  changedFiles,
}: {
  readonly version: string;
  readonly changelog: string;
  /** As `git status --porcelain` lists them. */
  readonly changedFiles: string;
}): string[] {
  const title = `## [${version}]`;
  const section = changelog.split(/^(?=## )/m).find((part) => part.startsWith(title));
  return [
    ...(section === undefined
      ? [`CHANGELOG.md has no section ${title}; move what is under Unreleased there.`]
      : []),
    ...(section !== undefined && !/^- /m.test(section)
      ? [`the section ${title} of CHANGELOG.md is empty.`]
      : []),
    ...(changedFiles.trim() === '' ? [] : ['there are changes that are not committed.']),
  ];
}
