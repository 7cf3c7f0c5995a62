import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { PACKAGES, ROOMS, type RoomRule } from '../../boundaries.config.ts';
import type { ImportEdge, SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

type Found = Omit<Violation, 'path' | 'line'>;

/** Every import of a file against the package table and the room table. */
export function* checkImports(file: SourceFile): Generator<Violation> {
  const place = { path: file.path, line: 1 };
  if (PACKAGES[file.packageName] === undefined) {
    const message = `package ${file.packageName} is not in boundaries.config.ts.`;
    yield { rule: 'package-unknown', ...place, message };
    return;
  }
  if (hasNoRoom(file)) {
    const message = `${roomOf(file.inner) ?? file.inner} is not a room of boundaries.config.ts.`;
    yield { rule: 'room-unknown', ...place, message };
  }
  for (const edge of file.imports) {
    for (const found of checkEdge(file, edge)) yield { ...found, path: file.path, line: edge.line };
  }
}

/** The path below `src` that a relative import points to. */
export function resolveInner(file: SourceFile, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(file.inner), specifier));
}

function* checkEdge(file: SourceFile, edge: ImportEdge): Generator<Found> {
  if (edge.specifier.startsWith('.')) yield* checkRelative(file, edge);
  else if (isBuiltin(edge.specifier)) yield* checkBuiltin(file, edge);
  else yield* checkPackage(file, edge);
}

function* checkBuiltin(file: SourceFile, edge: ImportEdge): Generator<Found> {
  if (PACKAGES[file.packageName]?.usesNode === true) return;
  yield { rule: 'pure-package', message: `${file.packageName} is pure and cannot import ${edge.specifier}.` };
}

function* checkPackage(file: SourceFile, edge: ImportEdge): Generator<Found> {
  const rule = PACKAGES[file.packageName];
  const [scope = '', second = '', ...deeper] = edge.specifier.split('/');
  if (scope === '@caisson' || edge.specifier === 'caisson') {
    const target = scope === '@caisson' ? second : 'cli';
    if (rule?.packages.includes(target) !== true)
      yield { rule: 'package-import', message: `${file.packageName} may not import ${edge.specifier}.` };
    if (deeper.length > 0)
      yield { rule: 'package-door', message: `${edge.specifier} goes past the door of @caisson/${target}.` };
    return;
  }
  const name = scope.startsWith('@') ? `${scope}/${second}` : scope;
  if (rule?.npm !== 'any' && rule?.npm.includes(name) !== true) {
    yield { rule: 'npm-import', message: `${file.packageName} may not import ${name}.` };
  }
}

function* checkRelative(file: SourceFile, edge: ImportEdge): Generator<Found> {
  const target = resolveInner(file, edge.specifier);
  if (target.endsWith('-stage.ts'))
    yield { rule: 'stage-import', message: `${target} sets the stage for tests and is not for programs.` };
  if (target.startsWith('..')) {
    // The one file above src that belongs to the package itself.
    if (target !== '../package.json')
      yield { rule: 'package-door', message: `${edge.specifier} leaves the package; import it by name.` };
    return;
  }
  const rule = ROOMS[file.packageName];
  if (rule !== undefined) yield* checkRoom(rule, file, edge, target);
}

function* checkRoom(rule: RoomRule, file: SourceFile, edge: ImportEdge, target: string): Generator<Found> {
  const [from, to] = [roomOf(file.inner), roomOf(target)];
  if (from === to && from !== null) return;
  const isInRoots = isRoot(file.packageName, file.inner);
  if (isRoot(file.packageName, target)) {
    const message = `a room cannot import ${target}; what it needs is given to it.`;
    const isContract = rule.contracts?.[target]?.includes(from ?? '') === true && isTypeOnly(edge);
    if (!isInRoots && !isContract) yield { rule: 'room-composition', message };
    return;
  }
  if (to === null) return;
  if (target !== `${to}/index.ts`) {
    const message = `${edge.specifier} goes past the door of ${to}; import ../${to}/index.ts.`;
    yield { rule: 'room-door', message };
  }
  if (isInRoots || to === 'platform') return;
  if (rule.rooms[from ?? '']?.includes(to) !== true)
    yield { rule: 'room-import', message: `${from ?? file.inner} may not open the door of ${to}.` };
  if (rule.constructsInRoots) yield* checkConstruction(edge);
}

function isTypeOnly(edge: ImportEdge): boolean {
  return edge.names.length > 0 && edge.names.every(({ isType }) => isType);
}

function* checkConstruction(edge: ImportEdge): Generator<Found> {
  const built = edge.names.find(({ name, isType }) => !isType && /^(create|open)[A-Z]/.test(name));
  if (built === undefined) return;
  const message = `${built.name}: only engine.ts constructs rooms; take the room as an argument.`;
  yield { rule: 'room-construction', message };
}

/** The folder right below `src`; null for a loose file. */
export function roomOf(inner: string): string | null {
  const slash = inner.indexOf('/');
  return slash === -1 ? null : inner.slice(0, slash);
}

/** Whether a file belongs to what joins the rooms of its package. */
export function isRoot(packageName: string, inner: string): boolean {
  const roots = ROOMS[packageName]?.roots ?? [];
  return roots.some((root) => inner === root || (root.endsWith('/') && inner.startsWith(root)));
}

function hasNoRoom({ packageName, inner }: SourceFile): boolean {
  const rooms = ROOMS[packageName]?.rooms;
  return rooms !== undefined && !isRoot(packageName, inner) && rooms[roomOf(inner) ?? ''] === undefined;
}
