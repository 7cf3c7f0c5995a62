import type { ExitCode } from './exit-codes.ts';
import type { Output } from './output.ts';

/** One option of a command, for `--help`, the parser and the shell completions. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly summary: string;
  readonly short?: string;
  readonly multiple?: boolean;
  /** Placeholder of the value in the help, for example `DURATION`. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** What a shell may complete it with, looked up when it is asked. */
  readonly names?: NamesKind;
}

/** Lists that `caisson completion --words` prints. */
export const NAMES_KINDS = [
  ...(['runs', 'runtimes', 'agents', 'models'] as const),
  ...(['senses', 'workflows', 'threads', 'residents'] as const),
] as const;
export type NamesKind = (typeof NAMES_KINDS)[number];

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** Options that every command understands. */
export const COMMON_OPTIONS = {
  output: {
    type: 'string',
    short: 'o',
    value: 'FORMAT',
    choices: ['human', 'json', 'ndjson'],
    summary: 'human text, one JSON value, or one JSON line per event; default human',
  },
  'state-dir': {
    type: 'string',
    value: 'FOLDER',
    summary: 'state folder to use instead of .caisson in the project',
  },
  'no-daemon': {
    type: 'boolean',
    summary: 'do it in this process, also if the project has a daemon',
  },
  help: { type: 'boolean', short: 'h', summary: 'show this help' },
} as const satisfies OptionSpecs;

type ValueOf<O extends OptionSpec> = O['type'] extends 'boolean'
  ? boolean
  : O extends { multiple: true }
    ? readonly string[]
    : string | undefined;
export type OptionValues<O extends OptionSpecs> = { readonly [K in keyof O]: ValueOf<O[K]> };

export interface CommandInput<O extends OptionSpecs> {
  readonly options: OptionValues<O & typeof COMMON_OPTIONS>;
  readonly positionals: readonly string[];
  /** Everything after `--`, unchanged; null when there was no `--`. */
  readonly rest: readonly string[] | null;
  readonly output: Output;
  /** Every command there is. */
  readonly rows: readonly CommandRow[];
}

export interface Example {
  readonly line: string;
  readonly says: string;
}

/** A command. It prints through `output` only, and its promise resolves to the exit code. */
export interface Command<O extends OptionSpecs = OptionSpecs> {
  /** What follows the name, for example `RUN [--follow]`. */
  readonly usage: string;
  /** A few sentences under the summary, with what a person needs to know first. */
  readonly about?: string;
  readonly options: O;
  /** How many words may follow the name. Default none. */
  readonly positionals?: { readonly min: number; readonly max: number };
  /** Whether `-- WORDS` may follow. Default false. */
  readonly takesRest?: boolean;
  readonly examples: readonly [Example, ...Example[]];
  run(input: CommandInput<O>): Promise<ExitCode>;
}

/** A row of the table: enough for the overview; the rest is loaded when it is needed. */
export interface CommandRow {
  /** One word, or two: `policy check`. */
  readonly name: string;
  /** Other names for it, as other programs call it. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  load(): Promise<{ readonly command: Command }>;
}

/** Keeps the types of a command's options inside its `run`, and forgets them outside. */
export function defineCommand<const O extends OptionSpecs>(command: Command<O>): Command {
  return command;
}
