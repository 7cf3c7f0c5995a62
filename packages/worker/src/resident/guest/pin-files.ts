/**
 * Files of the project keep the content of their first load for as long as the worker lives: the next thread of a module is
 * made of the same files, whatever was saved meanwhile. Installed packages are not pinned.
 *
 * In the thread of the user's code: takes what is pinned, and says what it read beside that.
 */
import type { LoadFnOutput, RegisterHooksOptions } from 'node:module';
import type { Say } from './run-thread.ts';
import type { PinnedFiles } from './thread-messages.ts';

type StripTypes = (source: string) => string;

export function createPins(
  { ways, sources }: PinnedFiles,
  say: Say,
  stripTypes: StripTypes,
): RegisterHooksOptions {
  return {
    resolve(name, context, next) {
      const way = JSON.stringify([context.parentURL ?? '', name, context.conditions.includes('require')]);
      const known = ways.get(way);
      if (known !== undefined) return { ...known, shortCircuit: true };
      const found = next(name, context);
      const { url, format = null } = found;
      if (isOfProject(url)) say({ kind: 'pinned', way, url, format });
      return found;
    },
    load(url, context, next) {
      const known = sources.get(url);
      if (known !== undefined)
        return { source: known.source, format: known.format ?? undefined, shortCircuit: true };
      const found = next(url, context);
      const source = isOfProject(url) ? findText(found) : null;
      if (source === null) return found;
      const { format = null } = found;
      const plain = withoutTypes(source, format, stripTypes);
      say({ kind: 'pinned', url, ...(plain ?? { source, format }) });
      return plain === null ? found : { ...plain, shortCircuit: true };
    },
  };
}

/** What Node removes types with takes 8 MiB and some 20 ms of each thread that needs it: the later ones get plain JavaScript. */
function withoutTypes(
  source: string,
  format: string | null,
  stripTypes: StripTypes,
): { source: string; format: string } | null {
  const plain = /^(module|commonjs)-typescript$/.exec(format ?? '')?.[1];
  if (plain === undefined) return null;
  try {
    return { source: stripTypes(source), format: plain };
  } catch {
    return null; // Node says what is wrong with it
  }
}

function isOfProject(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/');
}

/** A program (WebAssembly, an addon) is no text and is not pinned. */
function findText({ format, source }: LoadFnOutput): string | null {
  if (typeof source === 'string') return source;
  const isText = format == null || /^(?:json|module|commonjs)(?:-typescript)?$/.test(format);
  return isText && source instanceof Uint8Array ? Buffer.from(source).toString() : null;
}
