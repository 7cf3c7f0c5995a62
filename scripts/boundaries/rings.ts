/** Each ring of nodes that is reachable from the starts, once, with its first node again at the end. */
export function* findRings(
  starts: Iterable<string>,
  next: (node: string) => Iterable<string>,
): Generator<string[]> {
  const done = new Set<string>();
  for (const start of starts) yield* visit(start, [], next, done);
}

function* visit(
  node: string,
  trail: readonly string[],
  next: (node: string) => Iterable<string>,
  done: Set<string>,
): Generator<string[]> {
  const at = trail.indexOf(node);
  if (at !== -1) yield [...trail.slice(at), node];
  if (at !== -1 || done.has(node)) return;
  for (const target of next(node)) yield* visit(target, [...trail, node], next, done);
  done.add(node);
}
