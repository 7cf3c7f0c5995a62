import { ConfigFile } from '@caisson/protocol';

/** The part of a zod definition that is walked here. */
interface SchemaDefinition {
  readonly shape?: Readonly<Record<string, SchemaNode>>;
  readonly innerType?: SchemaNode;
  readonly valueType?: SchemaNode;
  readonly element?: SchemaNode;
  readonly options?: readonly SchemaNode[];
}

interface SchemaNode {
  readonly _zod: { readonly def: object };
}

/** The keys that the config schema knows at a path; empty where any key goes, or none. */
export function keysAt(path: readonly PropertyKey[]): string[] {
  let node: SchemaNode | undefined = ConfigFile;
  for (const part of path) node = stepInto(unwrap(node), part);
  const { shape, options } = definitionOf(unwrap(node));
  const shapes = [shape, ...(options ?? []).map((option) => definitionOf(option).shape)];
  return [...new Set(shapes.flatMap((one) => Object.keys(one ?? {})))];
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
