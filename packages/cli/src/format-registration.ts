import type { DiffLine, Registration } from '@caisson/engine';
import { line as show, type Line, type Lines, type Style } from './painted.ts';

/** One line for what was registered, and one for each difference to the version before. */
export function formatRegistration(registration: Registration, style: Style): Lines {
  const { kind, name, version, hash, changed, diff } = registration;
  const verb = changed ? (version === 1 ? style.green('new') : style.yellow('changed')) : style.dim('same');
  const head = show`${verb}  ${kind}/${name}@${version}  sha256:${hash.slice(0, 16)}`;
  return [head, ...diff.map((line) => show`  ${describe(line, style)}`)];
}

function describe({ sign, path, before, after }: DiffLine, style: Style): Line {
  const values = [before, after].filter((value) => value !== undefined).join(' → ');
  const text = `${sign} ${path}${values === '' ? '' : `: ${values}`}`;
  if (sign === '+') return style.green(text);
  return sign === '-' ? style.red(text) : style.yellow(text);
}
