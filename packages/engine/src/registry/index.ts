export * from './contract.ts';
export * from './errors.ts';
export { openRegistry, type RegistryOptions } from './open-registry.ts';
export { readDefinition, registerFolder } from './register-folder.ts';
export { createNames } from './names.ts';
export type * from './names-contract.ts';
export {
  compileSystemPrompt,
  compileUserPrompt,
  describePrompt,
  type CompiledPrompt,
} from './compile-prompt.ts';
export { scanForCredentials, type CredentialFinding } from './scan-credentials.ts';
