// Imports modules of Node into a bundle without their ES module wrappers. An `import` of `node:fs` reads every property
// of it, and with that loads streams, promises and more: some 8 ms of the start of a command, for unused functions.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';

/** Bundled CommonJS asks for `require`, which an ES module has not; files that do not ask are spared the making of one. */
export const REQUIRE_BANNER =
  'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);';

/** A module of Node that is loaded when something of it is used first. */
const LATER =
  'const __later = (name) => { let it; return new Proxy({}, { get: (_, key) => (it ??= require(name))[key] }); };\n';
/** Loaded by Node itself, before any program. */
const THERE = ['node:events', 'node:fs', 'node:path', 'node:url', 'node:util'];

/** Lets a CommonJS bundle load modules of Node when it uses them: most commands need few of those that they could use. */
export function takeBuiltinsLater(file) {
  const text = readFileSync(file, 'utf8');
  const rewritten = text.replaceAll(/ = require\("(node:[a-z_/]+)"\)(?=[,;])/g, (whole, name) =>
    THERE.includes(name) ? whole : ` = __later("${name}")`,
  );
  writeFileSync(file, rewritten === text ? text : LATER + rewritten);
}

/** Rewrites every bundle in the folder. Imports move to the top, where the runtime would have put them. */
export function takeBuiltinsDirectly(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith('.mjs')) continue;
    const file = join(folder, name);
    writeFileSync(file, rewrite(name, readFileSync(file, 'utf8')));
  }
}

function rewrite(name, text) {
  const head = [];
  let rest = '';
  let end = 0;
  for (const statement of parseSync(name, text).module.staticImports) {
    const module = statement.moduleRequest.value;
    if (!isBuiltin(module)) continue;
    head.push(...declare(`process.getBuiltinModule(${JSON.stringify(module)})`, statement.entries));
    rest += text.slice(end, statement.start);
    end = statement.end;
  }
  rest = (rest + text.slice(end)).replace(REQUIRE_BANNER, '');
  if (/\brequire\b/.test(rest)) head.unshift(REQUIRE_BANNER);
  return `${head.join('\n')}\n${rest}`;
}

/** The default export of a module of Node is the module itself, and so is its namespace for what we do with it. */
function declare(taken, entries) {
  const named = entries.filter(({ importName }) => importName.kind === 'Name');
  const whole = entries.filter(({ importName }) => importName.kind !== 'Name');
  const names = named.map(({ importName, localName }) => `${importName.name}: ${localName.value}`);
  return [
    ...whole.map(({ localName }) => `const ${localName.value} = ${taken};`),
    ...(names.length === 0 ? [] : [`const { ${names.join(', ')} } = ${taken};`]),
  ];
}
