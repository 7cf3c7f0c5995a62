// An esbuild plugin: the readers of packages/protocol/src/readers.ts become plain functions in a bundle, written from the
// same schemas. The schema library takes a worker longer to load and to set up than everything else it loads.
//
// A function gets what JSON can say, and returns what the schema would: the value without unknown keys and with defaults,
// or `undefined` where the schema refuses. A schema of a kind that is not below fails the build.
const READERS = /\/packages\/protocol\/src\/readers\.ts$/;

export const schemaReaders = {
  name: 'schema-readers',
  setup(build) {
    build.onLoad({ filter: READERS }, async ({ path }) => ({ contents: writeReaders(await import(path)) }));
  },
};

/** The text of a module with the same exports. */
export function writeReaders(readers) {
  const writer = createWriter();
  const exported = Object.entries(readers).map(
    ([name, { schema }]) => `export const ${name} = (value) => ${writer.nameOf(schema)}(value) ?? null;`,
  );
  return [...writer.functions, ...exported].join('\n');
}

function createWriter() {
  const functions = ["const isRecord = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);"];
  const names = new Map();
  const nameOf = (schema) => {
    if (!names.has(schema)) {
      const body = write(schema);
      names.set(schema, `read${names.size}`);
      functions.push(`function ${names.get(schema)}(v) {\n${body}\n}`);
    }
    return names.get(schema);
  };
  const write = ({ _zod: { def } }) => {
    const compound = COMPOUND[def.type];
    if (compound !== undefined) return compound(def, nameOf);
    if (!(def.type in TESTS)) throw new Error(`a reader cannot be written for the schema type ${def.type}`);
    return `return ${both(TESTS[def.type](def), testChecks(def))} ? v : undefined;`;
  };
  return { functions, nameOf };
}

/** Of a value that stays as it is: what must be true of it. */
const TESTS = {
  unknown: () => 'true',
  boolean: () => "typeof v === 'boolean'",
  string: () => "typeof v === 'string'",
  number: ({ format }) => {
    if (format === undefined) return 'Number.isFinite(v)';
    if (format === 'safeint') return 'Number.isSafeInteger(v)';
    throw new Error(`a reader cannot be written for the number format ${format}`);
  },
  literal: ({ values }) => isOneOf(values),
  enum: ({ entries }) => isOneOf(Object.values(entries)),
};

const CHECKS = {
  describe: () => 'true',
  min_length: ({ minimum }) => `v.length >= ${minimum}`,
  max_length: ({ maximum }) => `v.length <= ${maximum}`,
  greater_than: ({ value, inclusive }) => `v ${inclusive ? '>=' : '>'} ${value}`,
  less_than: ({ value, inclusive }) => `v ${inclusive ? '<=' : '<'} ${value}`,
  string_format: ({ format, pattern, prefix }) => {
    if (format === 'starts_with') return `v.startsWith(${JSON.stringify(prefix)})`;
    if (format === 'regex' && pattern.flags === '') return `${pattern}.test(v)`;
    throw new Error(`a reader cannot be written for the string format ${format}`);
  },
};

const COMPOUND = {
  nullable: ({ innerType }, nameOf) => `return v === null ? null : ${nameOf(innerType)}(v);`,
  array: (def, nameOf) =>
    [
      `if (!${both('Array.isArray(v)', testChecks(def))}) return undefined;`,
      `const items = v.map(${nameOf(def.element)});`,
      'return items.includes(undefined) ? undefined : items;',
    ].join('\n'),
  record: (def, nameOf) => {
    refuse(
      def.keyType._zod.def.type !== 'string' || testChecks(def.keyType._zod.def) !== '',
      'keys with rules',
    );
    return [
      'if (!isRecord(v)) return undefined;',
      'const record = {};',
      'for (const key of Object.keys(v)) {',
      "  if (key === '__proto__') continue;",
      `  const value = ${nameOf(def.valueType)}(v[key]);`,
      '  if (value === undefined) return undefined;',
      '  record[key] = value;',
      '}',
      'return record;',
    ].join('\n');
  },
  union: ({ options, discriminator }, nameOf) => {
    refuse(discriminator === undefined, 'a union without a discriminator');
    const cases = options.flatMap((option) =>
      option._zod.def.shape[discriminator]._zod.def.values.map(
        (value) => `case ${JSON.stringify(value)}: return ${nameOf(option)}(v);`,
      ),
    );
    const key = JSON.stringify(discriminator);
    return `if (!isRecord(v)) return undefined;\nswitch (v[${key}]) {\n${cases.join('\n')}\n}\nreturn undefined;`;
  },
  object: (def, nameOf) => {
    const { shape, catchall, checks = [] } = def;
    refuse(checks.length > 0, 'an object with rules');
    refuse(catchall !== undefined && catchall._zod.def.type !== 'never', 'further keys of a type');
    const keys = Object.keys(shape);
    return [
      'if (!isRecord(v)) return undefined;',
      ...(catchall === undefined
        ? []
        : [`for (const key in v) if (!${isOneOf(keys, 'key')}) return undefined;`]),
      'const object = {};',
      'let value;',
      ...keys.map((key) => writeField(JSON.stringify(key), shape[key], nameOf)),
      'return object;',
    ].join('\n');
  },
};

function writeField(key, schema, nameOf) {
  const { type, innerType, defaultValue } = schema._zod.def;
  const read = (inner) =>
    `if ((value = ${nameOf(inner)}(v[${key}])) === undefined) return undefined;\nobject[${key}] = value;`;
  if (type === 'optional') return `if (v[${key}] !== undefined) {\n${read(innerType)}\n}`;
  if (type !== 'default') return read(schema);
  return `if (v[${key}] === undefined) object[${key}] = ${JSON.stringify(defaultValue)};\nelse {\n${read(innerType)}\n}`;
}

function testChecks({ checks = [] }) {
  return checks
    .map(({ _zod: { def } }) => {
      refuse(!(def.check in CHECKS), `the check ${def.check}`);
      return CHECKS[def.check](def);
    })
    .join(' && ');
}

const both = (first, second) => (second === '' ? `(${first})` : `(${first} && ${second})`);

function isOneOf(values, name = 'v') {
  return values.length === 0
    ? 'false'
    : `(${values.map((value) => `${name} === ${JSON.stringify(value)}`).join(' || ')})`;
}

function refuse(isUnknown, what) {
  if (isUnknown) throw new Error(`a reader cannot be written for ${what}`);
}
