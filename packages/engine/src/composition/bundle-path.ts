import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A bundled entry: beside us when we are bundled too, else in the CLI package's dist folder of a clone. */
export function bundlePath(name: string): string {
  const places = [`./${name}`, `../${name}`, `../../../cli/dist/${name}`];
  const paths = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return paths.find((path) => existsSync(path)) ?? `${paths[0]}`;
}
