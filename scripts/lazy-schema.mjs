// What the bundles build a schema with: see lazy-schemas.mjs.

/** Represents the schema that `build` makes, and makes it on first access. */
export function lazySchema(build) {
  let schema;
  return new Proxy(Object.prototype, {
    get(_, key) {
      schema ??= build();
      return schema[key];
    },
    has(_, key) {
      schema ??= build();
      return key in schema;
    },
  });
}
