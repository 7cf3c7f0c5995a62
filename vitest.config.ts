import { globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const UNITS = ['packages/*/src/**/*.test.ts'];
const WHOLE = ['tests/**/*.test.ts'];
/** What outlives the test file that does it, unless the process ends with the file. */
const CHANGES_ITS_PROCESS =
  /\bvi\.(?:mock|doMock|resetModules|stub\w+|spyOn|useFakeTimers)\(|\bprocess\.(?:chdir|umask|exitCode|on)\b|\bprocess\.env(?:\.\w+|\[[^\]]+\]) ?=[^=]/;

const alone = globSync([...WHOLE, ...UNITS], { cwd: import.meta.dirname }).filter((file) =>
  CHANGES_ITS_PROCESS.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
);

/** Programs that unit tests start from their sources are compiled once, not once for each start. */
const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), `caisson-tests-compiled-${process.getuid?.() ?? 0}`) };

export default defineConfig({
  test: {
    // Markers of the state folders that tests make stay out of the user's own folder.
    env: { XDG_STATE_HOME: join(tmpdir(), `caisson-tests-state-${process.getuid?.() ?? 0}`) },
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Tests wait more than they compute: four of them keep two cores busy.
    maxWorkers: 4,
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      // These share processes: to start one for each file and load the same modules again took 0.6 s of CPU time a file.
      { extends: true, test: { name: 'whole', isolate: false, include: WHOLE, exclude: alone } },
      // Vitest runs these last, so that short files keep every worker busy to the end.
      {
        extends: true,
        test: { name: 'units', isolate: false, env: COMPILED, include: UNITS, exclude: alone },
      },
    ],
  },
});
