export type { Secrets, SecretsOptions } from './contract.ts';
export { SecretUnavailableError } from './errors.ts';
export { createSecrets } from './create-secrets.ts';
