// `npm run check-boundaries`: holds the code to boundaries.config.ts.
//   node scripts/check-boundaries.ts [ROOT]
import { globSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkFileCycles, checkRoomCycles } from './boundaries/cycles.ts';
import { checkImports } from './boundaries/import-rules.ts';
import { readSourceFile } from './boundaries/source-file.ts';
import { checkSyntax } from './boundaries/syntax-rules.ts';
import type { Violation } from './boundaries/violation.ts';

/** Tests, what sets their stage, and their fixtures may start processes, print, and look behind doors. */
const IS_TEST = /(\.test|\.bench|-stage)\.tsx?$|\/fixtures\//;

/** Every place below `root` where the code leaves the architecture. */
export function findViolations(root: string): Violation[] {
  const paths = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).filter((path) => !IS_TEST.test(path));
  const files = paths.toSorted().map((path) => readSourceFile(root, path));
  return [
    ...files.flatMap((file) => [...checkImports(file), ...checkSyntax(file)]),
    ...checkFileCycles(files),
    ...checkRoomCycles(files),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = resolve(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url))));
  const violations = findViolations(root);
  for (const { rule, path, line, message } of violations)
    process.stdout.write(`${path}:${line}: [${rule}] ${message}\n`);
  process.stdout.write(violations.length === 0 ? 'boundaries hold\n' : `${violations.length} violations\n`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
