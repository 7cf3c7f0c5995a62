/** Reading of option words, as far as policy needs it. */

export interface ParsedOptions {
  /** Option words as written, without their separate values. */
  readonly flags: readonly string[];
  readonly operands: readonly string[];
  /** Values of options that take one, by option. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** Splits words into options and operands. `valued` names the options that take the next word. */
export function parseOptions(args: readonly string[], valued: readonly string[] = []): ParsedOptions {
  const flags: string[] = [];
  const operands: string[] = [];
  const values = new Map<string, string[]>();
  const keep = (option: string, value: string) => values.set(option, [...(values.get(option) ?? []), value]);
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (arg === '--') {
      operands.push(...args.slice(index + 1));
      break;
    }
    if (!arg.startsWith('-') || arg === '-') {
      operands.push(arg);
      continue;
    }
    flags.push(arg);
    const equals = arg.indexOf('=');
    const glued = valued.find(
      (option) => /^-[a-zA-Z]$/.test(option) && arg.startsWith(option) && arg.length > 2,
    );
    if (equals > 0) keep(arg.slice(0, equals), arg.slice(equals + 1));
    else if (valued.includes(arg)) keep(arg, args[(index += 1)] ?? '');
    else if (glued !== undefined) keep(glued, arg.slice(2));
  }
  return { flags, operands, values };
}

/** Whether a one-letter option (also in a cluster) or one of the long ones is among the words. */
export function hasFlag(args: readonly string[], letters: string, ...long: readonly string[]): boolean {
  for (const arg of args) {
    if (arg === '--') return false;
    if (long.some((name) => arg === name || arg.startsWith(`${name}=`))) return true;
    if (letters !== '' && /^-[a-zA-Z]+$/.test(arg) && [...letters].some((letter) => arg.includes(letter, 1)))
      return true;
  }
  return false;
}
