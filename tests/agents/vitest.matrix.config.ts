// `npm run test:agents`: every agent through every cell, then all of them at once.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['tests/agents/*.test.ts', 'tests/agents/*.matrix.ts'],
    globalSetup: ['tests/agents/matrix-setup.ts'],
    env: { CAISSON_AGENT_MATRIX: '1' },
    testTimeout: 180_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    sequence: { concurrent: false },
  },
});
