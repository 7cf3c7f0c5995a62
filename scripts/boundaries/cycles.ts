import { resolveInner } from './import-rules.ts';
import type { SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/** Files of one package that load each other in a ring. Types and lazy imports may point both ways. */
export function* checkCycles(files: readonly SourceFile[]): Generator<Violation> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  for (const file of files) yield* visit(file, [], byPath, done);
}

function* visit(
  file: SourceFile,
  trail: readonly string[],
  byPath: ReadonlyMap<string, SourceFile>,
  done: Set<string>,
): Generator<Violation> {
  const at = trail.indexOf(file.path);
  if (at !== -1) {
    const ring = [...trail.slice(at), file.path].map((path) => path.replace(/^packages\//, ''));
    yield { rule: 'cycle', path: file.path, line: 1, message: `import cycle: ${ring.join(' → ')}` };
    return;
  }
  if (done.has(file.path)) return;
  for (const edge of file.imports) {
    if (edge.isTypeOnly || edge.isLazy || !edge.specifier.startsWith('.')) continue;
    const target = byPath.get(`packages/${file.packageName}/src/${resolveInner(file, edge.specifier)}`);
    if (target !== undefined) yield* visit(target, [...trail, file.path], byPath, done);
  }
  done.add(file.path);
}
