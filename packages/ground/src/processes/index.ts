export * from './bounded-command.ts';
export { CommandStartError, MINIMAL_COMMAND_ENV, SECRET_FD } from './start-child.ts';
export * from './child.ts';
export * from './kill-marked.ts';
export * from './process-tree.ts';
export * from './process-wait.ts';
export * from './datagram-sender.ts';
export * from './folder-socket.ts';
export { findOwnPeer, isOwnPeer } from './own-peer.ts';
