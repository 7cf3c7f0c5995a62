/** What a tool call does, as far as policy is concerned. Contract: 4-protocol.md, "Policy". */
export const ACTION_CLASSES = [
  'file_read',
  'file_write',
  'file_delete',
  'bash_exec',
  'bash_destructive',
  'git_push',
  'git_destructive',
  'network',
  'agent_dispatch',
  'system_modify',
] as const;
export type ActionClass = (typeof ACTION_CLASSES)[number];

/** What is done to one path. */
export type Access = 'read' | 'write' | 'delete';

/**
 * From harmless to worst: a command line takes the worst class of its parts. The order never
 * disagrees with the matrix: a later class is decided at least as strictly in every mode.
 */
const BY_SEVERITY: readonly ActionClass[] = [
  'file_read',
  'network',
  'bash_exec',
  'file_write',
  'agent_dispatch',
  'file_delete',
  'bash_destructive',
  'git_push',
  'system_modify',
  'git_destructive',
];
const SEVERITY = new Map(BY_SEVERITY.map((actionClass, index) => [actionClass, index]));

/** Whether a class is worth reporting where a text only may be a command: everything worse than writing a file. */
export function isGrave(actionClass: ActionClass): boolean {
  return severityOf(actionClass) > severityOf('file_write');
}

/** How bad a class is; only the order means anything. */
export function severityOf(actionClass: ActionClass): number {
  return SEVERITY.get(actionClass) ?? 0;
}
