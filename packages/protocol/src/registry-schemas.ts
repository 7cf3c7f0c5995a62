/**
 * What can be registered under a name. `caisson.yaml` declares the same things in the same form; this is the form in
 * which a definition is hashed.
 */
import * as z from 'zod/mini';

import { AgentConfig, SecretRef } from './config.ts';

export const REGISTRY_KINDS = ['agents', 'capabilities', 'envs', 'pipelines'] as const;
export const RegistryKind = z.enum(REGISTRY_KINDS);
export type RegistryKind = z.infer<typeof RegistryKind>;

/** An agent as it is written; durations such as `10m` become milliseconds once parsed. */
export const AgentDefinition = AgentConfig;
export type AgentDefinition = z.output<typeof AgentDefinition>;
export type AgentDefinitionInput = z.input<typeof AgentDefinition>;

const VariableName = z
  .string()
  .check(
    z.regex(/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable'),
    z.maxLength(256),
  );

/** Values and secret references for the agent's environment. A name is one or the other. */
export const EnvBundle = z
  .strictObject({
    values: z._default(z.record(VariableName, z.string().check(z.maxLength(131_072))), {}),
    secrets: z._default(z.record(VariableName, SecretRef), {}),
  })
  .check(
    z.refine((bundle) => !Object.keys(bundle.values).some((name) => Object.hasOwn(bundle.secrets, name)), {
      error: 'a variable is both a value and a secret',
    }),
  );
export type EnvBundle = z.infer<typeof EnvBundle>;

/** The agent as it is hashed and stored: durations carry their unit, so that it parses to the same again. */
export function encodeAgentDefinition(agent: AgentDefinition): AgentDefinitionInput {
  const { timeout, verify, ...rest } = agent;
  return {
    ...rest,
    ...(timeout === undefined ? {} : { timeout: `${timeout}ms` }),
    ...(verify === undefined ? {} : { verify: encodeVerify(verify) }),
  };
}

function encodeVerify(
  verify: NonNullable<AgentDefinition['verify']>,
): NonNullable<AgentDefinitionInput['verify']> {
  const { timeout, ...rest } = verify;
  return timeout === undefined ? rest : { ...rest, timeout: `${timeout}ms` };
}
