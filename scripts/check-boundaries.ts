// `npm run check-boundaries`: holds the code to boundaries.config.ts.
//   node scripts/check-boundaries.ts [ROOT]
import { globSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkFileCycles, checkRoomCycles } from './boundaries/cycles.ts';
import { checkImports } from './boundaries/import-rules.ts';
import { checkMedian, measureFunctions, medianOf } from './boundaries/function-lengths.ts';
import { readSourceFile, type SourceFile } from './boundaries/source-file.ts';
import { checkSyntax } from './boundaries/syntax-rules.ts';
import type { Violation } from './boundaries/violation.ts';

/** Tests, what sets their stage, and their fixtures may start processes, print, and look behind doors. */
const IS_TEST = /(\.test|\.bench|-stage)\.tsx?$|\/fixtures\//;

/** Every place below `root` where the code leaves the architecture. */
export function findViolations(root: string): Violation[] {
  return checkFiles(readFiles(root));
}

function readFiles(root: string): SourceFile[] {
  const paths = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).filter((path) => !IS_TEST.test(path));
  return paths.toSorted().map((path) => readSourceFile(root, path));
}

function checkFiles(files: readonly SourceFile[]): Violation[] {
  return [
    ...files.flatMap((file) => [...checkImports(file), ...checkSyntax(file)]),
    ...checkFileCycles(files),
    ...checkRoomCycles(files),
    ...checkMedian(measureFunctions(files)),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = resolve(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url))));
  const files = readFiles(root);
  const violations = checkFiles(files);
  for (const { rule, path, line, message } of violations)
    process.stdout.write(`${path}:${line}: [${rule}] ${message}\n`);
  process.stdout.write(violations.length === 0 ? 'boundaries hold\n' : `${violations.length} violations\n`);
  const lengths = measureFunctions(files);
  const rings = violations.filter(({ rule }) => /cycle$/.test(rule)).length;
  process.stdout.write(
    `note: ${lengths.length} functions, the median has ${medianOf(lengths)} lines; ${rings} import cycles\n`,
  );
  process.exitCode = violations.length === 0 ? 0 : 1;
}
