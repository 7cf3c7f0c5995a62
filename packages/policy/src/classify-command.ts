import { CommandInspector, type InspectedCommand } from './classify/command-inspector.ts';
import { worstOf, type Finding } from './classify/finding.ts';
import { WorkLimitError } from './classify/work-limit-error.ts';
import { createScope } from './classify/shell-scope.ts';
import type { ActionClass } from './action-class.ts';

/** What a command line is, why, and because of which part of it. */
export interface CommandVerdict {
  readonly actionClass: ActionClass;
  /** Stable name of the rule that decided. */
  readonly rule: string;
  /** The exact part of the command text that caused the class. */
  readonly cause: string;
  /** Every simple command and redirection that was judged, in order. */
  readonly parts: readonly Finding[];
}

export interface ClassifyOptions {
  /** The home folder, so that its absolute path is known for what `~` is. */
  readonly home?: string | undefined;
  /** The workspace, so that absolute paths inside it are judged like relative ones. */
  readonly workspace?: string | undefined;
}

const MAX_COMMAND_LENGTH = 100_000;

/**
 * Classifies a command line by parsing it as shell. Never runs or reads anything.
 * A line takes its worst class; what cannot be parsed is bash_destructive.
 */
export function classifyCommand(command: string, options: ClassifyOptions = {}): CommandVerdict {
  return inspectCommand(command, options).verdict;
}

/** The verdict with the simple commands it is based on, for rules about paths and commands. */
export function inspectCommand(
  command: string,
  options: ClassifyOptions = {},
): { verdict: CommandVerdict; commands: readonly InspectedCommand[] } {
  const text = command.trim();
  if (text.length > MAX_COMMAND_LENGTH) {
    return { verdict: verdict([unparsable('too-long', text.slice(0, 80))]), commands: [] };
  }
  const inspector = new CommandInspector(text);
  try {
    inspector.runScript(text, createScope(options), text);
  } catch (error) {
    // Input that breaks the classifier must not pass it; only malformed input does this.
    if (!(error instanceof Error)) throw error;
    const rule = error instanceof WorkLimitError ? 'too-much-work' : 'unparsable';
    inspector.report(unparsable(rule, text), text);
  }
  return { verdict: verdict(inspector.findings), commands: inspector.commands };
}

function verdict(parts: readonly Finding[]): CommandVerdict {
  const worst = worstOf(parts);
  if (worst === undefined) return { actionClass: 'file_read', rule: 'nothing', cause: '', parts: [] };
  return { actionClass: worst.actionClass, rule: worst.rule, cause: worst.cause, parts };
}

function unparsable(rule: string, cause: string): Finding {
  return { actionClass: 'bash_destructive', rule, cause };
}
