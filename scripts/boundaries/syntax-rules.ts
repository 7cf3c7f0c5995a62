import { PACKAGES, PRIVILEGES, type Privilege } from '../../boundaries.config.ts';
import { childrenOf, isNode, type SourceFile, type SyntaxNode } from './source-file.ts';
import type { Violation } from './violation.ts';

/** Modules that start processes or threads. */
const STARTERS = new Set(
  ['child_process', 'cluster', 'worker_threads'].flatMap((name) => [name, `node:${name}`]),
);
/** Globals that a browser does not have. */
const NODE_GLOBALS = new Set(['process', 'Buffer', 'require', '__dirname', '__filename', 'setImmediate']);
const SEEN_IMPORTS = 'import by a name that this check can read.';
const WATCHED_GLOBALS = new Set([...NODE_GLOBALS, 'console']);

/** What a file does, beyond what it imports: environment, printing, processes, topics, git. */
export function* checkSyntax(file: SourceFile): Generator<Violation> {
  const say = (rule: string, line: number, message: string): Violation => ({
    rule,
    path: file.path,
    line,
    message,
  });
  const refuse: Refuse = (privilege, line, message) =>
    isPrivileged(file.path, privilege) ? [] : [say(privilege, line, message)];

  yield* checkImportedPowers(file, refuse);
  for (const { node, isGlobal } of walk(file.tree, new Set())) {
    const line = file.lineOf(node.start);
    const member = isGlobal ? readMember(node) : null;
    if (member !== null) {
      if (member.object === 'process' && member.property === 'env')
        yield* refuse(
          'process-env',
          line,
          'process.env is read by config (host) and environment.ts (worker).',
        );
      if (member.object === 'process' && /^std(out|err)$/.test(member.property))
        yield* refuse('printing', line, `process.${member.property}: only the output of the CLI prints.`);
      if (member.object === 'process' && member.property === 'getBuiltinModule')
        yield* refuse('computed-import', line, `process.getBuiltinModule: ${SEEN_IMPORTS}`);
      if (member.object === 'console')
        yield* refuse('printing', line, `console.${member.property}: only the output of the CLI prints.`);
    }
    if (isGlobal && node.type === 'VariableDeclarator' && destructures(node, 'env'))
      yield* refuse('process-env', line, 'process.env is read by config (host) and environment.ts (worker).');
    if (
      isGlobal &&
      node.type === 'Identifier' &&
      NODE_GLOBALS.has(String(node['name'])) &&
      PACKAGES[file.packageName]?.usesNode === false
    ) {
      yield say('pure-package', line, `${file.packageName} is pure and cannot use ${String(node['name'])}.`);
    }
    if (/^caisson:[a-z][a-z-]*$/.test(readText(node) ?? ''))
      yield* refuse('raw-topic', line, 'use BusTopic instead of a raw topic string.');
    if (readsUntyped(node))
      yield say('untyped-event', line, 'switch over the type of the event: its fields have names then.');
    if (startsGit(node)) yield* refuse('git', line, 'git on the host is run by the workspace room.');
  }
}

type Refuse = (privilege: Privilege, line: number, message: string) => Violation[];

/** What a file may do only with what it imports. */
function* checkImportedPowers(file: SourceFile, refuse: Refuse): Generator<Violation> {
  for (const edge of file.imports) {
    if (STARTERS.has(edge.specifier) && !edge.isTypeOnly) {
      yield* refuse(
        'child-process',
        edge.line,
        `${edge.specifier}: processes are started through @caisson/ground.`,
      );
    }
    if (/^(node:)?process$/.test(edge.specifier))
      yield* refuse('process-env', edge.line, 'use the global process, which this check can see.');
    if (/^(node:)?module$/.test(edge.specifier) && !edge.isTypeOnly)
      yield* refuse('computed-import', edge.line, `${edge.specifier}: ${SEEN_IMPORTS}`);
    const git = edge.names.find(({ name, isType }) => !isType && /git/i.test(name));
    if (edge.specifier === '@caisson/ground' && git !== undefined)
      yield* refuse('git', edge.line, `${git.name}: git on the host is run by the workspace room.`);
  }
  for (const line of file.computedImports)
    yield* refuse('computed-import', line, `import() of a computed name: ${SEEN_IMPORTS}`);
}

function isPrivileged(path: string, privilege: Privilege): boolean {
  return Object.keys(PRIVILEGES[privilege]).some((place) =>
    place.endsWith('/') ? path.startsWith(place) : path === place,
  );
}

/** Every node, with whether the watched name it starts from means the global one in this place. */
function* walk(
  node: SyntaxNode,
  hidden: ReadonlySet<string>,
): Generator<{ node: SyntaxNode; isGlobal: boolean }> {
  const inside = isScope(node) ? new Set([...hidden, ...boundNames(node)]) : hidden;
  yield { node, isGlobal: !inside.has(startingName(node)) };
  for (const [key, child] of childrenOf(node)) {
    // A property's name is not a reference: `{ process: 1 }`, `child.process`.
    if ((key === 'property' || key === 'key') && node['computed'] !== true) continue;
    yield* walk(child, inside);
  }
}

function isScope(node: SyntaxNode): boolean {
  return /Function|^BlockStatement$|^For|^CatchClause$|^Program$/.test(node.type);
}

/** Watched names that a scope declares itself, by parameter, variable or import; types do not hide values. */
function* boundNames(scope: SyntaxNode): Generator<string> {
  const queue: { node: SyntaxNode; isPattern: boolean }[] = [];
  for (const [key, child] of childrenOf(scope))
    queue.push({ node: child, isPattern: key === 'params' || key === 'param' });
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { node, isPattern } = next;
    if (isPattern && node.type === 'Identifier' && WATCHED_GLOBALS.has(String(node['name'])))
      yield String(node['name']);
    if (!isPattern && !/^(VariableDeclarat|Import)/.test(node.type)) continue;
    for (const [key, child] of childrenOf(node)) {
      if (
        key === 'init' ||
        key === 'right' ||
        key === 'typeAnnotation' ||
        (key === 'key' && node['computed'] !== true)
      )
        continue;
      queue.push({ node: child, isPattern: isPattern || key === 'id' || key === 'local' });
    }
  }
}

function startingName(node: SyntaxNode): string {
  if (node.type === 'Identifier') return String(node['name']);
  if (node.type === 'MemberExpression' && isNode(node['object'])) return startingName(node['object']);
  return node.type === 'VariableDeclarator' && isNode(node['init']) ? startingName(node['init']) : '';
}

function readMember(node: SyntaxNode): { object: string; property: string } | null {
  const { object, property } = node;
  if (
    node.type !== 'MemberExpression' ||
    !isNode(object) ||
    !isNode(property) ||
    object.type !== 'Identifier'
  )
    return null;
  return {
    object: String(object['name']),
    property: String(node['computed'] === true ? property['value'] : property['name']),
  };
}

/** `const { env } = process` */
function destructures(node: SyntaxNode, name: string): boolean {
  const { id, init } = node;
  if (!isNode(id) || !isNode(init) || init['name'] !== 'process' || !Array.isArray(id['properties']))
    return false;
  return (id['properties'] as unknown[]).some(
    (property) => isNode(property) && isNode(property['key']) && property['key']['name'] === name,
  );
}

function readText(node: SyntaxNode): string | null {
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  const value = node.type === 'TemplateElement' ? node['value'] : null;
  return typeof value === 'object' && value !== null && 'raw' in value ? String(value.raw) : null;
}

/** `event['x']` and `event.data['x']`: a field of an event by its text, which no compiler checks. */
function readsUntyped(node: SyntaxNode): boolean {
  const { object, property } = node;
  if (node.type !== 'MemberExpression' || node['computed'] !== true || !isNode(object) || !isNode(property))
    return false;
  const inner = object.type === 'MemberExpression' ? object['property'] : object;
  const name = isNode(inner) ? String(inner['name']) : '';
  return typeof property['value'] === 'string' && (name === 'event' || name === 'data');
}

/** `{ file: 'git' }`, the form in which ground gets the program to start. */
function startsGit(node: SyntaxNode): boolean {
  const { key, value } = node;
  return (
    node.type === 'Property' &&
    isNode(key) &&
    key['name'] === 'file' &&
    isNode(value) &&
    value['value'] === 'git'
  );
}
