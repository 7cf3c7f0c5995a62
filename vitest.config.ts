import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Markers of the state folders that tests make stay out of the user's own folder.
    env: { XDG_STATE_HOME: join(tmpdir(), `caisson-tests-state-${process.getuid?.() ?? 0}`) },
    include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Tests wait more than they compute: four of them keep two cores busy.
    maxWorkers: 4,
  },
});
