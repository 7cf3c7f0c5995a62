import type { ShellScope } from './shell-scope.ts';

/** Where a piece of syntax stands: the text its positions index, and the names in force. */
export interface Frame {
  readonly source: string;
  readonly scope: ShellScope;
  /** Cause to report when this source is not literally part of the line. */
  readonly outerCause: string;
  /** The pipeline this stands in, which is the cause when text flows into a shell. */
  readonly pipelineText?: string;
  /** How many commands had been judged when that pipeline began. */
  readonly pipelineFrom?: number;
}
