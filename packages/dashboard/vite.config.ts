import { join } from 'node:path';
import { defineConfig } from 'vite';

/** Everything is a file of its own: the policy of the page allows no inline script and no data as a script. */
export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  build: {
    outDir: join(import.meta.dirname, '..', 'cli', 'dist', 'dashboard'),
    emptyOutDir: true,
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    modulePreload: false,
    target: 'es2023',
    reportCompressedSize: false,
  },
});
