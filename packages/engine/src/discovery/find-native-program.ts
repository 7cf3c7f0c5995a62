import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { unlessErrno } from '@caisson/ground';
import type { RuntimeDescriptor } from '@caisson/protocol';
import * as z from 'zod/mini';
import { isProgram } from './find-program.ts';
import { findInstalledVersion } from './installed-version.ts';

/** The layout in which the native program finds its own helpers without the script. */
const NativeLayout = z.object({
  layoutVersion: z.literal(1),
  version: z.string(),
  entrypoint: z.string().check(z.regex(/^(?!.*\.\.)[\w-][\w./-]*$/)),
});

/**
 * The program that an npm package's script only starts: it is started directly, which saves a Node, and evidence has the
 * hash of what runs. Null if the path is no such script, or the package with the native program is of another version.
 */
export function findNativeProgram(
  path: string,
  { native, bins }: Pick<RuntimeDescriptor, 'native' | 'bins'>,
  arch: string = process.arch,
): string | null {
  const place = native?.folders[arch];
  const script = realpathSync(path);
  if (native === undefined || place === undefined || !script.endsWith('.js')) return null;
  const version = findInstalledVersion(script, bins);
  for (let folder = dirname(script); folder.includes('/node_modules'); folder = dirname(folder)) {
    const packages = basename(folder) === 'node_modules' ? folder : join(folder, 'node_modules');
    const layout = readLayout(join(packages, place, native.layoutFile));
    if (layout === null) continue;
    const program = join(packages, place, layout.entrypoint);
    return layout.version === version && isProgram(program) ? realpathSync(program) : null;
  }
  return null;
}

function readLayout(file: string): z.infer<typeof NativeLayout> | null {
  const text = unlessErrno(() => readFileSync(file, 'utf8'), null, 'ENOENT', 'ENOTDIR', 'EACCES');
  if (text === null) return null;
  try {
    return NativeLayout.parse(JSON.parse(text));
  } catch {
    return null; // another layout: the script knows it
  }
}
