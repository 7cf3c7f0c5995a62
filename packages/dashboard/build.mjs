// Builds the pages into a folder, and says how big they are.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

/** What a browser loads, compressed. A phone on a slow line has it within a second or two. */
export const MAX_GZIP_BYTES = 250_000;

/** Resolves with every bundled file, relative to the root, and with the compressed size of all pages. Throws where they are too big. */
export async function buildDashboard(root, outDir) {
  const configFile = join(import.meta.dirname, 'vite.config.ts');
  const { output } = await build({ configFile, logLevel: 'warn', build: { outDir } });
  const gzipBytes = measure(outDir);
  if (gzipBytes > MAX_GZIP_BYTES)
    throw new Error(
      `the dashboard has ${gzipBytes} bytes (gzip); ${MAX_GZIP_BYTES} are allowed. Leave something out of packages/dashboard.`,
    );
  return {
    inputs: output.flatMap(({ moduleIds = [] }) => moduleIds.map((path) => relative(root, path))),
    gzipBytes,
  };
}

function measure(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return files.reduce(
    (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name))).length,
    0,
  );
}
