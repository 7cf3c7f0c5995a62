export * from './contract.ts';
export * from './errors.ts';
export { openRegistry } from './open-registry.ts';
export { readDefinition, registerFolder } from './register-folder.ts';
export type { NameRegistry } from './find-runtime.ts';
export { createNames, createRuntimeNames } from './names.ts';
export type * from './names-contract.ts';
export { compileSystemPrompt, compileUserPrompt, describePrompt } from './compile-prompt.ts';
