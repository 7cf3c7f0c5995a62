import { findPatternProblem } from '@caisson/policy';
import type { ConfigFile } from '@caisson/protocol';
import type { ConfigDocument } from './config-document.ts';
import { ConfigError } from './errors.ts';

/** A pattern that could take too long is refused where it is written: who compares paths with it waits for nothing else. */
export function refusePatterns(document: ConfigDocument, file: ConfigFile): void {
  for (const { path, pattern } of listPatterns(file)) {
    const problem = findPatternProblem(pattern);
    if (problem === null) continue;
    const message = `${path.join('.')}: the pattern "${pattern.slice(0, 80)}" ${problem}.`;
    throw new ConfigError([{ file: document.file, ...document.locate(path), message }]);
  }
}

function listPatterns({ policy, senses = {}, schedules = {} }: ConfigFile) {
  return [
    ...(policy?.rules ?? []).flatMap((rule, at) =>
      'path' in rule ? [{ path: ['policy', 'rules', String(at), 'path'], pattern: rule.path }] : [],
    ),
    ...Object.entries(senses).flatMap(([name, { on = [] }]) =>
      on.flatMap((cause, at) =>
        'files' in cause ? [{ path: ['senses', name, 'on', String(at), 'files'], pattern: cause.files }] : [],
      ),
    ),
    ...Object.entries(schedules).flatMap(([name, { scope = [] }]) =>
      scope.map((pattern) => ({ path: ['schedules', name, 'scope'], pattern })),
    ),
  ];
}
