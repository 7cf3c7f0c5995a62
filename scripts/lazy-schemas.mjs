// Building the schemas of the house takes more time than most commands do, and a process uses few of them. In a bundle
// each schema that a module makes while it is loaded is therefore made when it is first used, or left out when it never
// is. The sources stay as they are; only `const X = z.…` at the top of a module is touched.
import { fileURLToPath } from 'node:url';

const RUNTIME = fileURLToPath(new URL('./lazy-schema.mjs', import.meta.url));

/**
 * The replacements `{ start, end, text }` that make a module's own schemas lazy; none where it has none. With `isLate` the
 * library is lazy, too (late-zod.mjs).
 */
export function lazySchemaEdits({ program, module }, source, isLate) {
  const zod = module.staticImports.find(({ moduleRequest }) => moduleRequest.value === 'zod/mini');
  if (zod === undefined) return [];
  const builders = findBuilders(program.body);
  const edits = [];
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    switch (node.type) {
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
        return visit(node.expression);
      case 'ObjectExpression':
        return node.properties.forEach((property) => visit(property.value ?? null));
      case 'CallExpression':
        if (!makesSchema(node, builders)) return node.arguments.forEach(visit);
        edits.push({
          start: node.start,
          end: node.end,
          text: `/* @__PURE__ */ __lazySchema(() => ${source.slice(node.start, node.end)})`,
        });
    }
  };
  for (const statement of program.body) {
    for (const declarator of declarationsOf(statement)) visit(declarator.init);
  }
  if (isLate) edits.push({ start: zod.start, end: zod.end, text: "import { zod as z } from 'late-zod';" });
  if (edits.length === 0) return [];
  const runtime = `import { lazySchema as __lazySchema } from ${JSON.stringify(RUNTIME)}; `;
  return [{ start: zod.start, end: zod.start, text: runtime }, ...edits];
}

function declarationsOf(statement) {
  const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
  return declaration?.type === 'VariableDeclaration' ? declaration.declarations : [];
}

/** Functions of the module that return a schema: `const count = () => z.int()`. */
function findBuilders(statements) {
  const names = new Set();
  for (const statement of statements) {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared?.type === 'FunctionDeclaration' && returnsSchema(declared)) names.add(declared.id.name);
    for (const { id, init } of declarationsOf(statement)) {
      if (init?.type === 'ArrowFunctionExpression' && returnsSchema(init)) names.add(id.name);
    }
  }
  return names;
}

function returnsSchema({ body }) {
  if (body.type !== 'BlockStatement') return makesSchema(body, new Set());
  return body.body.some(
    (inner) => inner.type === 'ReturnStatement' && makesSchema(inner.argument, new Set()),
  );
}

/** `z.a()`, `z.a().b()`, or a call of one of the module's own builders. */
function makesSchema(node, builders) {
  if (node?.type !== 'CallExpression') return false;
  const { callee } = node;
  if (callee.type === 'Identifier') return builders.has(callee.name);
  if (callee.type !== 'MemberExpression') return false;
  return callee.object.type === 'Identifier'
    ? callee.object.name === 'z'
    : makesSchema(callee.object, builders);
}
