export { listCommandWords } from './command-words.ts';
export * from './control-files.ts';
export * from './forbidden-changes.ts';
export { isGitDir, listHarmfulParts } from './git-controls.ts';
export { judgeChanges, judgeFiles, judgeTrees, type FileState, type RiskyChange } from './risky-changes.ts';
