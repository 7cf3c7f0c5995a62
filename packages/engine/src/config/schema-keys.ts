import { ConfigFile, trustMarkOf, type TrustMark } from '@caisson/protocol';

/** The part of a zod definition that is walked here. */
interface SchemaDefinition {
  readonly shape?: Readonly<Record<string, SchemaNode>>;
  readonly innerType?: SchemaNode;
  readonly valueType?: SchemaNode;
  readonly element?: SchemaNode;
  readonly options?: readonly SchemaNode[];
  /** The key whose value selects one of `options`. */
  readonly discriminator?: string;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, unknown>>;
}

export interface SchemaNode {
  readonly _zod: { readonly def: object };
}

/** The keys that the config schema knows at a path of the input; empty where any key is allowed, or none. */
export function keysAt(path: readonly PropertyKey[], written: unknown): string[] {
  let node: SchemaNode | undefined = ConfigFile;
  let value = written;
  for (const part of path) {
    node = stepInto(unwrap(node), part);
    value = memberOf(value, part);
  }
  const shapes = shapesOf(definitionOf(unwrap(node)), value);
  return [...new Set(shapes.flatMap((shape) => Object.keys(shape)))];
}

/** The schema of one member of a map, whether the map has fixed keys or any. */
export function memberOfSchema(node: SchemaNode | undefined, key: string): SchemaNode | undefined {
  return stepInto(unwrap(node), key);
}

/** What a project may do with this key before its user has agreed; `null` for the values of a map of names. */
export function markOf(node: SchemaNode | undefined): TrustMark | null {
  if (node === undefined) return null;
  return trustMarkOf(node) ?? markOf(definitionOf(node).innerType);
}

function shapesOf(definition: SchemaDefinition, value: unknown): Readonly<Record<string, SchemaNode>>[] {
  const { shape, options = [], discriminator } = definition;
  const shapes = [shape, ...options.map((option) => definitionOf(option).shape)];
  const known = shapes.filter((one) => one !== undefined);
  if (discriminator === undefined) return known;
  const chosen = memberOf(value, discriminator);
  const fitting = known.filter((one) => takes(one[discriminator], chosen));
  return fitting.length === 0 ? known : fitting;
}

function takes(node: SchemaNode | undefined, value: unknown): boolean {
  const { values = [], entries = {} } = definitionOf(unwrap(node));
  return values.includes(value) || Object.values(entries).includes(value);
}

function memberOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? (Reflect.get(value, key) as unknown) : undefined;
}

function stepInto(node: SchemaNode | undefined, part: PropertyKey): SchemaNode | undefined {
  const definition = definitionOf(node);
  return definition.shape?.[String(part)] ?? definition.valueType ?? definition.element;
}

function unwrap(node: SchemaNode | undefined): SchemaNode | undefined {
  const inner = definitionOf(node).innerType;
  return inner === undefined ? node : unwrap(inner);
}

function definitionOf(node: SchemaNode | undefined): SchemaDefinition {
  return node?._zod.def ?? {};
}
