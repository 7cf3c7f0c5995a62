export { joinOutputs, shorten } from './head-and-tail.ts';
export { underDiskWatch } from './disk-watch.ts';
export { obeyStop } from './obey-stop.ts';
export { runInSandbox, type CommandOutcome } from './run-command.ts';
