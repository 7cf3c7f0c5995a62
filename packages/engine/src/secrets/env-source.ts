import type { SecretSource, SecretsOptions } from './contract.ts';

/** `env:NAME` */
export function createEnvSource({ env }: SecretsOptions): SecretSource {
  return {
    isKept: false,
    check: (name) =>
      /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? null : `"${name}" is not the name of a variable`,
    fetch: (name) => {
      const value = env[name];
      return value === undefined || value === ''
        ? Promise.reject(new Error(`the environment variable ${name} is not set`))
        : Promise.resolve(value);
    },
  };
}
