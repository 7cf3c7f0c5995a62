import { MAX_MEDIAN_FUNCTION_LINES } from '../../boundaries.config.ts';
import { childrenOf, type SourceFile, type SyntaxNode } from './source-file.ts';
import type { Violation } from './violation.ts';

/** The lines of each function. A callback on one line is an expression rather than a function, and not counted. */
export function measureFunctions(files: readonly SourceFile[]): number[] {
  return files.flatMap((file) => [...listLengths(file, file.tree)]);
}

export function medianOf(lengths: readonly number[]): number {
  return lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)] ?? 0;
}

export function* checkMedian(lengths: readonly number[]): Generator<Violation> {
  const median = medianOf(lengths);
  if (median <= MAX_MEDIAN_FUNCTION_LINES) return;
  const message = `the median function has ${median} lines; ${MAX_MEDIAN_FUNCTION_LINES} are allowed.`;
  yield { rule: 'median-function', path: 'packages', line: 1, message };
}

function* listLengths(file: SourceFile, node: SyntaxNode): Generator<number> {
  if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
    const lines = file.lineOf(node.end) - file.lineOf(node.start) + 1;
    if (node.type !== 'ArrowFunctionExpression' || lines > 1) yield lines;
  }
  for (const [, child] of childrenOf(node)) yield* listLengths(file, child);
}
