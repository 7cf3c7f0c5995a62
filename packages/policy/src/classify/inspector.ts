import type { Finding, Hit } from './finding.ts';
import type { ShellScope } from './shell-scope.ts';
import type { WrittenFiles } from './written-files.ts';

/** Text that reaches a command's standard input; undefined when it has none. */
export type Stdin = string | undefined;

/**
 * What a handler may ask of the classifier. Handlers use this and not the walker, so that programs that run other
 * programs (`sudo`, `find -exec`, `sh -c`) need no import of it.
 */
export interface Inspector {
  /** Judges a script that a command would hand to a shell. Returns its output if certain. */
  runScript(text: string, scope: ShellScope, cause: string, stdin?: Stdin): string;
  /** Judges a command given as words. Returns its output if certain. */
  runArgv(argv: readonly string[], scope: ShellScope, cause: string, stdin?: Stdin): string;
  /** Records an extra finding, besides what the handler returns. */
  report(hit: Hit, cause: string): void;
  /** Judges a run separately and returns its findings: for commands that run elsewhere. */
  collect(run: () => void): Finding[];
  /** The whole line, for the few questions that one command cannot answer. */
  readonly line: string;
  /** What the line wrote into files so far. */
  readonly files: WrittenFiles;
  /** Whether the line has read a credential file; sending anything after that is grave. */
  readsCredentials: boolean;
}

/** One simple command, expanded. */
export interface Call {
  /** Last path component of the program. */
  readonly name: string;
  /** The program as it was written, folder included. */
  readonly path: string;
  readonly args: readonly string[];
  readonly scope: ShellScope;
  readonly stdin: Stdin;
  /** The text of this command in the line, for findings. */
  readonly cause: string;
  readonly inspector: Inspector;
}

/** Judges one program. Null means: nothing special, an ordinary program. */
export type Handler = (call: Call) => Hit | null;
