import { isAbsolute, resolve } from 'node:path';
import type { AgentTool } from '@earendil-works/pi-agent-core';

export interface ToolPlace {
  readonly workspace: string;
  readonly home: string;
  /** The environment of commands. */
  readonly env: Readonly<Record<string, string>>;
}

type Parameters = AgentTool['parameters'];

interface Property {
  readonly type: 'string' | 'number' | 'boolean';
  readonly description: string;
}

/** A JSON schema of flat parameters. The model's arguments are validated against it before the tool runs. */
export function parameters<K extends string>(
  properties: Readonly<Record<K, Property>>,
  required: readonly NoInfer<K>[],
): Parameters {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const MAX_RESULT_CHARACTERS = 48_000;

/** Long results keep their beginning and their end. */
export function textResult(text: string): { content: { type: 'text'; text: string }[]; details: undefined } {
  const half = MAX_RESULT_CHARACTERS / 2;
  const cut = text.length - MAX_RESULT_CHARACTERS;
  const shown =
    cut <= 0 ? text : `${text.slice(0, half)}\n… ${cut} characters left out …\n${text.slice(-half)}`;
  return { content: [{ type: 'text', text: shown }], details: undefined };
}

export const resolveIn = (place: ToolPlace, path: string): string =>
  isAbsolute(path) ? path : resolve(place.workspace, path.replace(/^~\//, `${place.home}/`));

export function stringOf(input: unknown, name: string): string {
  const value = fieldOf(input, name);
  if (typeof value !== 'string') throw new TypeError(`parameter "${name}" must be a string`);
  return value;
}

export const numberOr = (input: unknown, name: string, fallback: number): number => {
  const value = fieldOf(input, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
};

export const textOr = (input: unknown, name: string, fallback: string): string => {
  const value = fieldOf(input, name);
  return typeof value === 'string' ? value : fallback;
};

function fieldOf(input: unknown, name: string): unknown {
  return typeof input === 'object' && input !== null ? Reflect.get(input, name) : undefined;
}
