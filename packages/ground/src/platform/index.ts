export * from './clock.ts';
export { explainError, findDiskTrouble, isDiskFull } from './disk-trouble.ts';
export * from './errno.ts';
export { isExecutable } from './is-executable.ts';
export { limitFileSize } from './limit-file-size.ts';
export { shareTurn, takeTurn } from './share-turn.ts';
export { showPath } from './show-path.ts';
export { unusedName } from './unused-name.ts';
export { createSequence } from './sequence.ts';
