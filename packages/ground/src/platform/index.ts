export * from './clock.ts';
export { explainError, findDiskTrouble, isDiskFull } from './disk-trouble.ts';
export * from './errno.ts';
export { showPath } from './show-path.ts';
