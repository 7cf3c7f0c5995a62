import type { ShellScope } from './shell-scope.ts';

/** The context of a piece of syntax: the text its positions index, and the variables in force. */
export interface Frame {
  readonly source: string;
  readonly scope: ShellScope;
  /** Cause to report when this source is not literally part of the line. */
  readonly outerCause: string;
  /** The pipeline this belongs to; it is the cause when text flows into a shell. */
  readonly pipelineText?: string;
  /** How many commands had been judged when that pipeline began. */
  readonly pipelineFrom?: number;
}
