export type { StageOptions } from './add-everything.ts';
export * from './forget-staged.ts';
export { forgetHidden } from './hidden-files.ts';
export { TooManyOversizedError, type OversizedFile, type StageLimits } from './oversized-files.ts';
export * from './stage-workspace.ts';
export { rememberStaged, takeMark, type StageMark } from './staged-memory.ts';
export { createPresence, isWorkspaceBare } from './workspace-folder.ts';
