export { runBounded, type BoundedCommandOptions, type BoundedCommandResult } from './bounded-command.ts';
export {
  streamCommand,
  type StreamedCommandOptions,
  type StreamedCommandResult,
} from './streamed-command.ts';
export { CommandStartError, MINIMAL_COMMAND_ENV, SECRET_FD } from './start-child.ts';
export * from './child.ts';
export * from './kill-marked.ts';
export * from './process-tree.ts';
export * from './process-wait.ts';
export * from './send-signal.ts';
export * from './datagram-sender.ts';
export * from './folder-socket.ts';
export * from './kept-socket.ts';
export { findOwnPeer, isOwnPeer } from './own-peer.ts';
