export * from './contract.ts';
export { createCallbacks } from './create-callbacks.ts';
export { post, type PostOutcome } from './post.ts';
export { signCallback } from './sign.ts';
