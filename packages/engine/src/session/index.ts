export type * from './contract.ts';
export { createSessions } from './create-sessions.ts';
