// Takes modules of Node into a bundle without their ES module faces. An `import` of `node:fs` reads every property of
// it, and with that loads streams, promises and more: some 8 ms of the start of a command, for functions nobody calls.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Bundled CommonJS asks for `require`, which an ES module has not; files that do not ask are spared the making of one. */
export const REQUIRE_BANNER =
  'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);';

const IMPORT = /^import (?:(?:(\w+|\* as \w+)(?:, )?)?(?:\{ (.+) \})? from )?"(node:[\w/]+)";$/;

/** Rewrites every bundle in the folder. Imports move to the top, where the runtime would have put them. */
export function takeBuiltinsDirectly(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith('.mjs')) continue;
    const file = join(folder, name);
    writeFileSync(file, rewrite(readFileSync(file, 'utf8')));
  }
}

function rewrite(text) {
  const head = [];
  const body = [];
  for (const line of text.split('\n')) {
    const match = IMPORT.exec(line);
    if (match !== null) head.push(...declare(match));
    else if (line !== REQUIRE_BANNER) body.push(line);
  }
  const rest = body.join('\n');
  if (/\brequire\b/.test(rest)) head.unshift(REQUIRE_BANNER);
  return `${head.join('\n')}\n${rest}`;
}

function declare([, whole, names, module]) {
  const taken = `process.getBuiltinModule("${module}")`;
  return [
    ...(whole === undefined ? [] : [`const ${whole.replace('* as ', '')} = ${taken};`]),
    ...(names === undefined ? [] : [`const { ${names.replaceAll(' as ', ': ')} } = ${taken};`]),
  ];
}
