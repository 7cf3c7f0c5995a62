import { CaissonError } from '@caisson/protocol';

/** One thing that is wrong, and where. `file` is a path, or the name of the variable or flag that holds the value. */
export interface ConfigProblem {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  readonly suggestion?: string;
}

export type RefusedWay =
  | { readonly kind: 'accept'; readonly folder: string }
  | { readonly kind: 'adopt'; readonly stateDir: string }
  | { readonly kind: 'none' };

/** The files of the project must not be used: another user owns them or can write them. None was read. */
export class ProjectRefusedError extends CaissonError {
  readonly code = 'PROJECT_REFUSED';
  /** The folder or file that is not ours. */
  readonly path: string;
  /** What a user can do about it: accept this folder, take this state folder over, or neither. */
  readonly way: RefusedWay;

  constructor(message: string, path: string, { remedy, way }: { remedy: string; way: RefusedWay }) {
    super(message, { remedy });
    this.path = path;
    this.way = way;
  }
}

const MAX_SHOWN = 8;

/** The configuration cannot be used as written. Nothing was changed on disk. */
export class ConfigError extends CaissonError {
  readonly code = 'CONFIG_INVALID';
  /** Every problem found, in the order of the file; never empty. */
  readonly problems: readonly [ConfigProblem, ...ConfigProblem[]];
  /** The composed message: one line for each problem, whatever characters a file contains. */
  readonly lines: readonly string[];

  constructor(
    problems: readonly [ConfigProblem, ...ConfigProblem[]],
    options: { cause?: unknown; remedy?: string } = {},
  ) {
    const lines = summarize(problems);
    super(lines.join('\n'), { remedy: 'Correct the value and run the command again.', ...options });
    this.problems = problems;
    this.lines = lines;
  }
}

function summarize(problems: readonly ConfigProblem[]): string[] {
  const lines = problems.slice(0, MAX_SHOWN).map(describe);
  if (problems.length > MAX_SHOWN) lines.push(`and ${problems.length - MAX_SHOWN} more.`);
  return lines;
}

function describe(problem: ConfigProblem): string {
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined).join(':');
  return `${place}: ${problem.message}${problem.suggestion === undefined ? '' : ` ${problem.suggestion}`}`;
}
