export * from './contract.ts';
export { createCallbacks } from './create-callbacks.ts';
export { post } from './post.ts';
