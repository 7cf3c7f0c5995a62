// `npm run test:projects`: real projects with their real tools, as root and as an ordinary user.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['tests/projects/*.projects.ts'],
    globalSetup: ['tests/projects/install-tools.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    pool: 'forks',
    maxWorkers: 1,
    sequence: { concurrent: false },
  },
});
