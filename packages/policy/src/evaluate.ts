/**
 * The one function that decides about a tool call. `caisson policy check`, the worker's gate and the native agent all
 * call it; golden-decisions.json pins its answers.
 *
 * Order: rules of caisson.yaml first (they only forbid), then the matrix of the mode. An unknown tool is asked about in
 * every mode.
 */
import { severityOf, type Access, type ActionClass } from './action-class.ts';
import { inspectCommand } from './classify-command.ts';
import type { InspectedCommand } from './classify/command-inspector.ts';
import { hitOfDelete } from './classify/delete-hit.ts';
import { kindOfPath } from './classify/path-kind.ts';
import { createScope } from './classify/shell-scope.ts';
import { hitOfWrite } from './classify/write-hit.ts';
import { classifyTool, type ToolClass } from './classify-tool.ts';
import { decide, getMode, type Decision } from './decide.ts';
import { forbidsCommand, forbidsPath, type Place } from './match-rule.ts';
import type { PolicyRule } from '@caisson/protocol';

export interface EvaluateRequest extends Place {
  readonly mode: string;
  readonly rules?: readonly PolicyRule[] | undefined;
  /** The runtime's own name of the tool: `Bash`, `apply_patch`, `write_file`. */
  readonly tool: string;
  readonly input: unknown;
}

export interface Evaluation {
  readonly decision: Decision;
  readonly actionClass: ActionClass | 'unknown';
  /** The classifier's rule, or the caisson.yaml rule that forbade it. */
  readonly rule: string;
  /** The exact part of the call that caused the decision. */
  readonly cause: string;
  /** The reason given in caisson.yaml, when such a rule decided. */
  readonly reason?: string;
}

/** Decides about a tool call. An unknown mode throws. */
export function evaluate(request: EvaluateRequest): Evaluation {
  const mode = getMode(request.mode);
  const tool = classifyTool(request.tool, request.input);
  if (tool.command !== null) return evaluateText(request, tool.command);
  const judged = judgePaths(tool, request);
  const forbidden = findForbiddenPath(request, judged.paths);
  if (forbidden !== null) return { ...forbidden, actionClass: judged.actionClass };
  const decision = judged.actionClass === 'unknown' ? 'ask' : decide(mode, judged.actionClass);
  return {
    decision,
    actionClass: judged.actionClass,
    rule: judged.rule,
    cause: judged.cause ?? request.tool,
  };
}

/** Decides about a command line, as a shell tool would run it. */
export function evaluateCommand(
  request: Omit<EvaluateRequest, 'tool' | 'input'> & { command: string },
): Evaluation {
  return evaluate({ ...request, tool: 'bash', input: { command: request.command } });
}

function evaluateText(request: EvaluateRequest, command: string): Evaluation {
  const { verdict, commands } = inspectCommand(command, request);
  const forbidden = findForbiddenCommand(request, commands);
  if (forbidden !== null) return { ...forbidden, actionClass: verdict.actionClass };
  const { actionClass, rule, cause } = verdict;
  return { decision: decide(request.mode, actionClass), actionClass, rule, cause };
}

type JudgedTool = Omit<ToolClass, 'command'> & { readonly rule: string; readonly cause: string | null };

/** A write by a file tool is judged by its target, like one by a command. */
function judgePaths(tool: ToolClass, place: Place): JudgedTool {
  let { actionClass } = tool;
  let rule = actionClass === 'unknown' ? 'unknown-tool' : 'tool';
  let cause: string | null = null;
  if (actionClass === 'unknown') return { ...tool, rule, cause };
  const scope = createScope(place);
  if (actionClass === 'file_write' && isMailboxOnly(tool, place))
    return { ...tool, actionClass: 'file_read', rule: 'mailbox', cause };
  for (const { path, access } of tool.paths) {
    const found =
      access === 'write'
        ? hitOfWrite(path, scope)
        : access === 'delete'
          ? hitOfDelete(path, false, scope)
          : null;
    if (found !== null && severityOf(found.actionClass) > severityOf(actionClass)) {
      actionClass = found.actionClass;
      rule = found.rule;
      cause = path;
    }
  }
  return { ...tool, actionClass, rule, cause };
}

/** A message for the host may be left in every mode. */
function isMailboxOnly(tool: ToolClass, place: Place): boolean {
  const scope = createScope(place);
  return tool.paths.length > 0 && tool.paths.every(({ path }) => kindOfPath(path, scope) === 'mailbox');
}

type Forbidden = Omit<Evaluation, 'actionClass'>;

function findForbiddenPath(request: EvaluateRequest, paths: ToolClass['paths']): Forbidden | null {
  for (const rule of request.rules ?? []) {
    if (!('path' in rule)) continue;
    const found = paths.find(({ path, access }) => forbidsPath(rule, path, access, request));
    if (found !== undefined) return forbid(rule, found.path);
  }
  return null;
}

function findForbiddenCommand(
  request: EvaluateRequest,
  commands: readonly InspectedCommand[],
): Forbidden | null {
  for (const rule of request.rules ?? []) {
    for (const command of commands) {
      if ('command' in rule) {
        if (forbidsCommand(rule, command)) return forbid(rule, command.cause);
        continue;
      }
      const word = accessedPaths(command).find(({ path, access }) =>
        forbidsPath(rule, path, access, request, command.cwd),
      );
      if (word !== undefined) return forbid(rule, command.cause);
    }
  }
  return null;
}

function forbid(rule: PolicyRule, cause: string): Forbidden {
  const name = 'path' in rule ? `${rule.action} ${rule.path}` : `deny ${rule.command}`;
  return { decision: 'deny', rule: name, cause, reason: rule.reason };
}

/** The words of a simple command that may be paths, and what it does to them. */
function accessedPaths(command: InspectedCommand): { path: string; access: Access }[] {
  const [program = '', ...args] = command.argv;
  const name = program.replace(/.*\//, '');
  const words = args.flatMap((arg) => wordsOf(arg));
  const last = args.filter((arg) => !arg.startsWith('-')).at(-1);
  return words.map((path) => ({ path, access: accessOf(name, command.actionClass, path === last) }));
}

/** `--file=secrets/a`, `of=secrets/a`, `@secrets/a` and code such as `open('secrets/a')` name paths too. */
function wordsOf(arg: string): string[] {
  const pieces = arg
    .split(/[\s'"`=,;()<>|&@:{}[\]]+/)
    .filter((piece) => piece !== '' && !piece.startsWith('-'));
  return arg.startsWith('-') ? pieces : [arg, ...pieces];
}

function accessOf(name: string, actionClass: ActionClass | null, isLast: boolean): Access {
  if (/^(cp|install|ln|rsync|scp|dd)$/.test(name) && actionClass !== 'bash_destructive')
    return isLast ? 'write' : 'read';
  if (name === 'mv') return isLast ? 'write' : 'delete';
  // What is made again may be deleted without asking, and still a rule may protect it.
  if (DELETES.test(name)) return 'delete';
  switch (actionClass) {
    case 'file_write':
      return 'write';
    case 'file_delete':
    case 'bash_destructive':
    case 'git_destructive':
    case 'system_modify':
      return 'delete';
    default:
      return 'read';
  }
}

const DELETES = /^(rm|grm|rmdir|unlink|srm|rimraf|del-cli|trash|shred|truncate)$/;
