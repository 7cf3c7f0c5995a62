import type { Function as FunctionNode } from 'unbash';

/** What a line has set so far: later commands on the line are read with it. */
export interface ShellScope {
  readonly variables: Map<string, string>;
  readonly functions: Map<string, { node: FunctionNode; source: string }>;
  readonly aliases: Map<string, string>;
  /** `$1 $2 …` inside a function or `sh -c … name args`; null when not known. */
  positional: readonly string[] | null;
  /** The folder the line has changed to, relative to where it started; '' at the start. */
  cwd: string;
  /** Where the line has moved or linked something to; shared by every scope of the line. */
  readonly filled: Set<string>;
  /** Folders that a generator on the line has just made; shared likewise. */
  readonly generated: Set<string>;
  readonly home: string | undefined;
  readonly workspace: string | undefined;
  /** How many shells, functions and substitutions deep this scope is. */
  readonly depth: number;
}

export function createScope(
  options: { home?: string | undefined; workspace?: string | undefined } = {},
): ShellScope {
  return {
    variables: new Map(),
    functions: new Map(),
    aliases: new Map(),
    // A tool's command line has no arguments: `r$@m` is `rm`.
    positional: [],
    cwd: '',
    filled: new Set(),
    generated: new Set(),
    home: options.home,
    workspace: options.workspace,
    depth: 0,
  };
}

/** A scope whose changes stay inside: a subshell, a substitution, another shell. */
export function forkScope(
  scope: ShellScope,
  positional: readonly string[] | null = scope.positional,
): ShellScope {
  return {
    ...scope,
    variables: new Map(scope.variables),
    functions: new Map(scope.functions),
    aliases: new Map(scope.aliases),
    positional,
    depth: scope.depth + 1,
  };
}

/** A function call: assignments stay visible, `$1 $2 …` are the call's own. */
export function callScope(scope: ShellScope, positional: readonly string[]): ShellScope {
  return { ...scope, positional, depth: scope.depth + 1 };
}

/** Longer values are cut: `a=$a$a` must not double for ever. */
const MAX_VALUE = 4096;

export function setVariable(scope: ShellScope, name: string, value: string): void {
  scope.variables.set(name, value.slice(0, MAX_VALUE));
}

/** `X='rm -rf a' sh -c '$X'`: the command sees what stands before it, the rest of the line does not. */
export function withVariables(
  scope: ShellScope,
  assigned: readonly (readonly [string, string])[],
  run: () => string,
): string {
  const before = assigned.map(([name]) => [name, scope.variables.get(name)] as const);
  for (const [name, value] of assigned) setVariable(scope, name, value);
  const output = run();
  for (const [name, value] of before) {
    if (value === undefined) scope.variables.delete(name);
    else scope.variables.set(name, value);
  }
  return output;
}
