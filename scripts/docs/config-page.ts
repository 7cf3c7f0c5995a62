import { envNameOf, SETTING_KEYS } from '@caisson/engine';
import { ConfigFile } from '@caisson/protocol';
import * as z from 'zod/mini';

/** The part of a JSON Schema that the page shows. */
interface SchemaPart {
  readonly description?: string;
  readonly trust?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly SchemaPart[];
  readonly items?: SchemaPart;
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly additionalProperties?: SchemaPart | boolean;
}

const TRUST: Readonly<Record<string, string>> = { harmless: 'harmless', ask: 'ask', 'may-lower': 'lower' };

/** The reference page of caisson.yaml. */
export function describeConfig(): string {
  const schema = z.toJSONSchema(ConfigFile, { io: 'input', unrepresentable: 'any' }) as SchemaPart;
  const rows = [...listFields(schema, '')].map(
    ({ key, part }) =>
      `| \`${key}\` | ${describeType(part)} | ${describeVariable(key)} | ${TRUST[part.trust ?? ''] ?? ''} | ${part.description ?? ''} |`,
  );
  return [
    '# caisson.yaml',
    '',
    "Every key is optional, and an unknown one is an error. The same keys go into the project's `caisson.yaml` and into your",
    'own file, `$XDG_CONFIG_HOME/caisson/config.yaml` (`~/.config/caisson/config.yaml`). A flag beats an environment variable,',
    "which beats the project's file, which beats yours, which beats the default; maps are merged and lists are joined.",
    '',
    "The column *project* says what the key may do in a project's file before you have agreed to it with `caisson trust`:",
    '*harmless* works at once; *lower* works as long as it is no more than your own value, or the default where you have',
    'none, and never raises a value that your own file sets; *ask* has no effect until you agree. Your own file needs no trust.',
    '',
    'Durations are written `500ms`, `45s`, `30m`, `1h30m` or as a number of seconds; sizes `512m`,',
    '`4g`, always with their unit. `caisson config` shows what holds in a project, and why. A variable that looks like one of',
    'these and is none is warned of.',
    '',
    '| key | type | variable | project | meaning |',
    '|---|---|---|---|---|',
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
