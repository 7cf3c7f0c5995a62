import { describeThrown } from './describe-thrown.ts';

/** What Node says of a file with `import` and `export` that a package.json makes it read as CommonJS. */
const AS_COMMONJS =
  /^SyntaxError: (?:Cannot use (?:import statement|'import\.meta') outside a module|Unexpected token 'export')$/m;
const REMEDY =
  'package.json makes Node read it as CommonJS. Rename it to .mts (or .mjs), or write "type": "module" in package.json';

/** Why a file does not load, with a remedy where Node names none. */
export function describeLoadError(thrown: unknown): string {
  const text = describeThrown(thrown);
  return isOfCommonJs(thrown) ? text.replace(AS_COMMONJS, (line) => `${line}: ${REMEDY}`) : text;
}

function isOfCommonJs(thrown: unknown): boolean {
  return thrown instanceof SyntaxError && String(thrown.stack).includes('node:internal/modules/cjs/');
}
