import { envNameOf, SETTING_KEYS } from '@caisson/engine';
import { ConfigFile } from '@caisson/protocol';
import * as z from 'zod/mini';

/** The part of a JSON Schema that the page shows. */
interface SchemaPart {
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly SchemaPart[];
  readonly items?: SchemaPart;
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly additionalProperties?: SchemaPart | boolean;
}

/** The reference page of caisson.yaml. */
export function describeConfig(): string {
  const schema = z.toJSONSchema(ConfigFile, { io: 'input', unrepresentable: 'any' }) as SchemaPart;
  const rows = [...listFields(schema, '')].map(
    ({ key, part }) =>
      `| \`${key}\` | ${describeType(part)} | ${describeVariable(key)} | ${part.description ?? ''} |`,
  );
  return [
    '# caisson.yaml',
    '',
    'Every key is optional, and an unknown one is an error. A flag beats an environment variable, which beats this file,',
    'which beats the default. Durations are written `500ms`, `45s`, `30m`, `1h30m` or as a number of seconds; sizes `512m`,',
    '`4g` or as a number of bytes. `caisson config` shows what holds in a project, and why. A variable that looks like one of',
    'these and is none is warned of.',
    '',
    '| key | type | variable | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function* listFields(schema: SchemaPart, prefix: string): Generator<{ key: string; part: SchemaPart }> {
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const key = `${prefix}${name}`;
    yield { key, part };
    yield* listFields(part, `${key}.`);
    if (typeof part.additionalProperties === 'object')
      yield* listFields(part.additionalProperties, `${key}.NAME.`);
    if (part.items !== undefined) yield* listFields(part.items, `${key}[].`);
  }
}

function describeType(part: SchemaPart): string {
  if (part.enum !== undefined) return part.enum.map((value) => `\`${value}\``).join(', ');
  if (part.anyOf !== undefined) return [...new Set(part.anyOf.map(describeType))].join(' or ');
  if (part.items !== undefined) return `list of ${part.items.type ?? 'blocks'}`;
  if (typeof part.additionalProperties === 'object') return 'map';
  return part.type ?? 'any';
}

function describeVariable(key: string): string {
  const setting = SETTING_KEYS.find((candidate) => candidate === key);
  return setting === undefined ? '' : `\`${envNameOf(setting)}\``;
}
