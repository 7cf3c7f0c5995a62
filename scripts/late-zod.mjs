// An esbuild plugin: the schema library is loaded when the first schema is built, from a file of its own. Together with
// lazy-schemas.mjs: a process that builds none never reads a line of it.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';

const LATE = `let loaded;
export const zod = new Proxy({}, { get: (_, name) => (loaded ??= require('./zod.cjs'))[name] });`;

/** Makes the plugin for the workspace at `root`; its bundle takes `zod` of `late-zod` where sources import `zod/mini`. */
export function lateZod(root) {
  return {
    name: 'late-zod',
    setup(build) {
      build.onResolve({ filter: /^(late|used)-zod$/ }, ({ path }) => ({
        path,
        namespace: 'late-zod',
        sideEffects: false,
      }));
      build.onResolve({ filter: /^\.\/zod\.cjs$/ }, ({ path }) => ({ path, external: true }));
      build.onLoad({ filter: /^late-zod$/, namespace: 'late-zod' }, () => ({
        contents: LATE,
        resolveDir: root,
      }));
      build.onLoad({ filter: /^used-zod$/, namespace: 'late-zod' }, () => ({
        contents: `export { ${[...listUsed(root)].join(', ')} } from 'zod/mini';`,
        resolveDir: root,
      }));
    },
  };
}

/** What the sources use of it, as values: the rest is left out of the bundle. */
function listUsed(root) {
  const used = new Set();
  for (const name of readdirSync(join(root, 'packages'), { recursive: true })) {
    if (!/^[a-z]+\/src\/.*\.ts$/.test(name) || name.endsWith('.test.ts')) continue;
    const text = readFileSync(join(root, 'packages', name), 'utf8');
    if (text.includes("import * as z from 'zod/mini'")) addMembers(parseSync(name, text).program, used);
  }
  return used;
}

function addMembers(node, used) {
  if (node === null || typeof node !== 'object') return;
  if (node.type === 'MemberExpression' && node.object.name === 'z') used.add(node.property.name);
  for (const part of Object.values(node)) addMembers(part, used);
}
