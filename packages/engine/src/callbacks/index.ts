export * from './contract.ts';
export { createCallbacks } from './create-callbacks.ts';
export { signCallback } from './sign.ts';
