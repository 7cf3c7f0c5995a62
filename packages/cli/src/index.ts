/** The public library: what the CLI itself is built on. */
export * from '@caisson/engine';
export * from '@caisson/protocol';
export { VERSION } from './version.ts';
