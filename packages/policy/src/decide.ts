import { findNearest, MODES, type Mode } from '@caisson/protocol';
import type { ActionClass } from './action-class.ts';
import { UnknownModeError } from './errors.ts';

/** `ask` pauses the call until a person (or the host's rule) answers. */
export type Decision = 'allow' | 'ask' | 'deny';

/** The matrix of 4-protocol.md: suggest, auto-edit, full-auto. */
const MATRIX: Record<ActionClass, Record<Mode, Decision>> = {
  file_read: row('allow', 'allow', 'allow'),
  file_write: row('deny', 'allow', 'allow'),
  file_delete: row('deny', 'ask', 'allow'),
  bash_exec: row('deny', 'allow', 'allow'),
  bash_destructive: row('deny', 'deny', 'ask'),
  git_push: row('deny', 'deny', 'ask'),
  git_destructive: row('deny', 'deny', 'deny'),
  network: row('ask', 'allow', 'allow'),
  agent_dispatch: row('deny', 'allow', 'allow'),
  system_modify: row('deny', 'deny', 'deny'),
};

/** The mode's decision about a class of action. An unknown mode throws {@link UnknownModeError}. */
export function decide(mode: string, actionClass: ActionClass): Decision {
  return MATRIX[actionClass][getMode(mode)];
}

/** The mode of that name; throws {@link UnknownModeError}, which suggests the nearest one. */
export function getMode(name: string): Mode {
  const mode = MODES.find((candidate) => candidate === name);
  if (mode !== undefined) return mode;
  const nearest = findNearest(name, MODES);
  throw new UnknownModeError(`Unknown mode "${name}". Modes are ${MODES.join(', ')}.`, {
    remedy: nearest === null ? `Use one of ${MODES.join(', ')}.` : `Did you mean "${nearest}"?`,
  });
}

function row(suggest: Decision, autoEdit: Decision, fullAuto: Decision): Record<Mode, Decision> {
  return { suggest, 'auto-edit': autoEdit, 'full-auto': fullAuto };
}
