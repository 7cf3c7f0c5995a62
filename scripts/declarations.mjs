import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** The library's types. The workspace packages are not published, so their names become relative paths. */
export function emitDeclarations(root, types, { isQuiet }) {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const result = spawnSync(tsc, ['-p', 'tsconfig.declarations.json', '--outDir', types], {
    cwd: root,
    encoding: 'utf8',
  });
  // `npm run check` reports type errors; the declarations are written anyway.
  if (result.status !== 0 && !isQuiet) process.stderr.write('tsc reported type errors; see npm run check\n');
  for (const name of readdirSync(types, { recursive: true })) {
    if (name.endsWith('.d.ts')) pointAtOwnTypes(join(types, name), types);
  }
}

function pointAtOwnTypes(file, types) {
  const text = readFileSync(file, 'utf8');
  const named = text.replaceAll(/(from |import\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2');
  const pointed = named.replaceAll(/(['"])@caisson\/([a-z]+)\1/g, (_, quote, name) => {
    const target = relative(dirname(file), join(types, name, 'src', 'index.js'));
    return `${quote}${target.startsWith('.') ? target : `./${target}`}${quote}`;
  });
  if (pointed !== text) writeFileSync(file, pointed);
}
