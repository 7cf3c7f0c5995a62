import { isRoot, resolveInner, roomOf } from './import-rules.ts';
import { findRings } from './rings.ts';
import type { ImportEdge, SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/** Files of one package that load each other in a ring. Types and lazy imports may point both ways. */
export function* checkFileCycles(files: readonly SourceFile[]): Generator<Violation> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const next = (path: string): string[] => {
    const file = byPath.get(path);
    if (file === undefined) return [];
    return listInnerImports(file)
      .filter(([edge]) => !edge.isTypeOnly && !edge.isLazy)
      .map(([, target]) => `packages/${file.packageName}/src/${target}`);
  };
  for (const ring of findRings(byPath.keys(), next)) yield describe('cycle', ring[0] ?? '', 1, ring);
}

/** Rooms of one package that know each other in a ring, also by types alone; a loose file counts as a room. */
export function* checkRoomCycles(files: readonly SourceFile[]): Generator<Violation> {
  const edges = new Map<string, Map<string, { path: string; line: number }>>();
  for (const file of files.filter(({ packageName, inner }) => !isRoot(packageName, inner))) {
    for (const [{ line }, target] of listInnerImports(file)) {
      const [from, to] = [file.inner, target].map((inner) => `${file.packageName}/${roomOf(inner) ?? inner}`);
      if (from === undefined || to === undefined || from === to) continue;
      const known = edges.get(from) ?? new Map<string, { path: string; line: number }>();
      edges.set(from, known.set(to, { path: file.path, line }));
    }
  }
  for (const ring of findRings(edges.keys(), (room) => edges.get(room)?.keys() ?? [])) {
    const place = edges.get(ring[0] ?? '')?.get(ring[1] ?? '');
    yield describe('room-cycle', place?.path ?? '', place?.line ?? 1, ring);
  }
}

function listInnerImports(file: SourceFile): [ImportEdge, string][] {
  return file.imports
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map((edge) => [edge, resolveInner(file, edge.specifier)]);
}

function describe(rule: string, path: string, line: number, ring: readonly string[]): Violation {
  const shown = ring.map((node) => node.replace(/^packages\//, '')).join(' → ');
  return { rule, path, line, message: `import cycle: ${shown}` };
}
