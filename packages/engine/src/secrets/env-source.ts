import type { SecretSource, SecretsOptions } from './contract.ts';

/** `env:NAME` */
export function createEnvSource({ env }: SecretsOptions): SecretSource {
  // The host's environment does not change any more: what is not set now never will be.
  const isSet = (name: string): boolean => (env[name] ?? '') !== '';
  return {
    isKept: false,
    check: (name) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `"${name}" is not the name of a variable`;
      return isSet(name) ? null : `the environment variable ${name} is not set`;
    },
    fetch: (name) =>
      isSet(name)
        ? Promise.resolve(env[name] ?? '')
        : Promise.reject(new Error(`the environment variable ${name} is not set`)),
  };
}
