/** Converts what a person wrote to the bytes that are hashed, and back. */
import {
  AgentDefinition,
  definedOnly,
  encodeAgentDefinition,
  EnvBundle,
  parsePipelineSpec,
  PipelineSpecError,
  type PipelineSpec,
} from '@caisson/protocol';
import type * as z from 'zod/mini';

import { refuseUnknownFragments } from './compile-prompt.ts';
import { DefinitionInvalidError } from './errors.ts';

export type DefinitionKind = 'agents' | 'envs' | 'pipelines';

/** Validates a definition and returns the value that is stored. */
export function normaliseDefinition(kind: DefinitionKind, name: string, value: unknown): unknown {
  refuseProtoMember(`${kind}/${name}`, value);
  switch (kind) {
    case 'agents':
      return encodeAgentDefinition(parseAgent(name, value));
    case 'envs':
      return parseEnvBundle(name, value);
    case 'pipelines':
      return parsePipeline(name, value);
  }
}

export function parseAgent(name: string, value: unknown): AgentDefinition {
  const agent = parseWith(AgentDefinition, `agent ${name}`, value);
  refuseUnknownFragments(name, agent);
  return agent;
}

export function parseEnvBundle(name: string, value: unknown): EnvBundle {
  return parseWith(EnvBundle, `env bundle ${name}`, value);
}

/** The name is the id; a pipeline that is declared under its name need not repeat it. */
export function parsePipeline(name: string, value: unknown): PipelineSpec {
  const given = typeof value === 'object' && value !== null ? value : {};
  try {
    const spec = parsePipelineSpec({ schemaVersion: 1, id: name, ...given });
    if (spec.id === name) return spec;
    throw new PipelineSpecError(`its id is "${spec.id}"`);
  } catch (cause) {
    if (!(cause instanceof PipelineSpecError)) throw cause;
    throw new DefinitionInvalidError(`pipeline ${name} was not registered: ${cause.message}`, {
      cause,
      ...definedOnly({ remedy: cause.remedy }),
    });
  }
}

/** The schemas would drop it silently. */
function refuseProtoMember(what: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) {
    throw new DefinitionInvalidError(`${what} is not valid: it has a "__proto__" member`);
  }
  for (const member of Object.values(value)) refuseProtoMember(what, member);
}

function parseWith<S extends z.ZodMiniType>(schema: S, what: string, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues
    .slice(0, 5)
    .map((issue) => `${issue.path.map(String).join('.') || 'it'}: ${describe(issue)}`);
  throw new DefinitionInvalidError(`${what} is not valid: ${issues.join('; ')}`, {
    remedy: 'See docs/reference for the members of a definition.',
  });
}

/** zod/mini has no messages. */
function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `unknown member ${issue.keys.join(', ')}`;
  if (issue.code === 'invalid_type') return `must be ${issue.expected}`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  return issue.message;
}
