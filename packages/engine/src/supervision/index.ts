export type * from './contract.ts';
export { supervise } from './supervise.ts';
