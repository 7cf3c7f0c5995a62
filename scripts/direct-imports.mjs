// An esbuild plugin: an import through a door (`index.ts`) becomes an import of the file that has the thing.
// Doors keep the source in order, but a bundler that splits code gives everyone who comes through a door everything
// behind it. The CLI would build every schema of the house before it prints its version.
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { lazySchemaEdits } from './lazy-schemas.mjs';

/** Makes the plugin for the workspace at `root`. `isZodLate`: see late-zod.mjs. */
export function directImports(root, { isZodLate = false } = {}) {
  const inspect = createInspector();
  return {
    name: 'direct-imports',
    setup(build) {
      build.onLoad({ filter: /\/packages\/[a-z]+\/src\/.*\.ts$/ }, ({ path }) => {
        const parsed = inspect(path);
        const { text } = parsed;
        const imports = parsed.module.staticImports.map((statement) => ({
          start: statement.start,
          end: statement.end,
          text: rewrite({ root, inspect }, statement, path),
        }));
        const edits = [
          ...imports.filter((edit) => edit.text !== null),
          ...lazySchemaEdits(parsed, text, isZodLate),
        ];
        return { contents: applyEdits(text, edits), loader: 'ts' };
      });
    },
  };
}

function createInspector() {
  const modules = new Map();
  return (file) => {
    if (!modules.has(file)) {
      const text = readFileSync(file, 'utf8'); // kept: the file may be saved while we build
      const { module, program } = parseSync(file, text);
      modules.set(file, { text, module, program });
    }
    return modules.get(file);
  };
}

function resolveDoor(root, specifier, importer) {
  const [, name] = /^@caisson\/([a-z]+)$/.exec(specifier) ?? [];
  if (name !== undefined) return join(root, 'packages', name, 'src', 'index.ts');
  return specifier.startsWith('.') && specifier.endsWith('.ts')
    ? resolve(dirname(importer), specifier)
    : null;
}

/** Where `name`, as `file` sees it, is really defined; null when that is unknown. */
function findHome(tree, file, name) {
  const stars = [];
  for (const { entries } of tree.inspect(file).module.staticExports) {
    for (const { moduleRequest, importName, exportName } of entries) {
      const target = moduleRequest == null ? null : resolveDoor(tree.root, moduleRequest.value, file);
      if (exportName.kind === 'Name' && exportName.name === name) {
        if (moduleRequest == null) return { file, name };
        return target === null || importName.kind !== 'Name' ? null : findHome(tree, target, importName.name);
      }
      if (exportName.kind === 'None' && target !== null) stars.push(target);
    }
  }
  for (const star of stars) {
    const home = findHome(tree, star, name);
    if (home !== null) return home;
  }
  return null;
}

function rewrite(tree, { moduleRequest, entries }, importer) {
  const door = resolveDoor(tree.root, moduleRequest.value, importer);
  const values = entries.filter((entry) => !entry.isType);
  if (door === null || !door.endsWith('/index.ts') || values.length === 0) return null;
  const homes = values.map(({ importName, localName }) => {
    const home = importName.kind === 'Name' ? findHome(tree, door, importName.name) : null;
    return home === null
      ? null
      : `import { ${home.name} as ${localName.value} } from ${JSON.stringify(home.file)};`;
  });
  return homes.includes(null) ? null : homes.join(' ');
}

function applyEdits(text, edits) {
  let contents = '';
  let end = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    contents += text.slice(end, edit.start) + edit.text;
    end = edit.end;
  }
  return contents + text.slice(end);
}
