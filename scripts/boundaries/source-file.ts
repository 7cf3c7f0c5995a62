import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

export interface ImportEdge {
  readonly specifier: string;
  readonly line: number;
  readonly isTypeOnly: boolean;
  /** `import()`: loaded when it is reached, not with the file. */
  readonly isLazy: boolean;
  /** Names as the other module exports them; `*` for a namespace or a star export. */
  readonly names: readonly { readonly name: string; readonly isType: boolean }[];
}

/** A node of the syntax tree, walked generically. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface SourceFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly packageName: string;
  /** Path below the package's `src`. */
  readonly inner: string;
  readonly imports: readonly ImportEdge[];
  /** Lines with an `import()` of something that is known only when it runs. */
  readonly computedImports: readonly number[];
  readonly tree: SyntaxNode;
  lineOf(offset: number): number;
}

/** Parses a TypeScript file of `packages/<name>/src`; a syntax error throws, because nothing can be said about it. */
export function readSourceFile(root: string, path: string): SourceFile {
  const text = readFileSync(`${root}/${path}`, 'utf8');
  const parsed = parseSync(path, text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${path} cannot be parsed: ${error.message}`);
  const [, packageName = '', , ...rest] = path.split('/');
  const lineOf = createLineFinder(text);
  return {
    path,
    packageName,
    inner: rest.join('/'),
    imports: [
      ...listStaticImports(parsed.module, lineOf),
      ...listDynamicImports(parsed.module, text, lineOf),
    ],
    computedImports: parsed.module.dynamicImports
      .filter(({ moduleRequest }) => readSpecifier(text, moduleRequest) === null)
      .map(({ start }) => lineOf(start)),
    tree: parsed.program as unknown as SyntaxNode,
    lineOf,
  };
}

/** Lines count from 1. */
function createLineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

type ModuleRecord = ReturnType<typeof parseSync>['module'];

function* listStaticImports(module: ModuleRecord, lineOf: (offset: number) => number): Generator<ImportEdge> {
  for (const { moduleRequest, entries, start } of module.staticImports) {
    const names = entries.map((entry) => ({ name: entry.importName.name ?? '*', isType: entry.isType }));
    const isTypeOnly = names.length > 0 && names.every(({ isType }) => isType);
    yield { specifier: moduleRequest.value, line: lineOf(start), isTypeOnly, isLazy: false, names };
  }
  for (const { entries, start } of module.staticExports) {
    for (const entry of entries) {
      if (entry.moduleRequest == null) continue;
      const names = [{ name: entry.importName.name ?? '*', isType: entry.isType }];
      yield {
        specifier: entry.moduleRequest.value,
        line: lineOf(start),
        isTypeOnly: entry.isType,
        isLazy: false,
        names,
      };
    }
  }
}

function* listDynamicImports(
  module: ModuleRecord,
  text: string,
  lineOf: (offset: number) => number,
): Generator<ImportEdge> {
  for (const { moduleRequest, start } of module.dynamicImports) {
    const specifier = readSpecifier(text, moduleRequest);
    if (specifier === null) continue;
    yield {
      specifier,
      line: lineOf(start),
      isTypeOnly: false,
      isLazy: true,
      names: [{ name: '*', isType: false }],
    };
  }
}

/** `null` for one that is computed. */
function readSpecifier(text: string, { start, end }: { start: number; end: number }): string | null {
  return /^(['"`])([^'"`$]*)\1$/.exec(text.slice(start, end))?.[2] ?? null;
}

/** The nodes right below a node, each with the name of the member that holds it. */
export function* childrenOf(node: SyntaxNode): Generator<[string, SyntaxNode]> {
  for (const [key, value] of Object.entries(node)) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isNode(item)) yield [key, item];
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
