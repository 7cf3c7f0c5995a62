import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // A machine that does other work besides may hold a process at the wrong moment: on CI a test gets a second try.
    retry: process.env['CI'] === undefined ? 0 : 1,
  },
});
