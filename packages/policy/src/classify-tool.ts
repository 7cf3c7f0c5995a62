/** What a tool call of any runtime does, by the tool's name and its input. */
import { shellQuote, isRecord, RUNTIME_DESCRIPTORS, type ToolKind, type ToolNames } from '@caisson/protocol';
import type { Access, ActionClass } from './action-class.ts';
import { MAX_PATH } from './classify/path-kind.ts';
import { readPatchPaths } from './patch-paths.ts';

export interface ToolClass {
  /** `unknown` is decided as ask in every mode; it is never taken for a read. */
  readonly actionClass: ActionClass | 'unknown';
  /** For shell tools: the text to classify. Its class replaces `actionClass`. */
  readonly command: string | null;
  readonly paths: readonly { readonly path: string; readonly access: Access }[];
}

/** Our own tools, and names that many agent programs use. Those of a runtime stand in its descriptor. */
const SHARED: ToolNames = {
  read: 'readfile view cat listdir search find_files readmcpresource listmcpresources diagnostics',
  write:
    'writefile create create_file edit_file multi_edit str_replace str_replace_editor str_replace_based_edit_tool insert memory',
  delete: 'delete delete_file remove_file',
  shell: 'run_command execute_command terminal run_terminal_cmd',
  patch: 'applypatch',
  network: 'fetch websearchtool',
  dispatch: 'dispatch subagent send_message_to_agent',
  quiet: 'ask hand_off report_context read_context needs_input todo_write think',
  stop: 'kill_shell',
};

const KINDS = joinToolNames([SHARED, ...Object.values(RUNTIME_DESCRIPTORS).map(({ tools }) => tools)]);

/** Which kind each name is. A name has the same kind in every table: a call does not say of which runtime it is. */
export function joinToolNames(tables: readonly ToolNames[]): ReadonlyMap<string, ToolKind> {
  const kinds = new Map<string, ToolKind>();
  for (const [kind, names] of tables.flatMap((table) => Object.entries(table) as [ToolKind, string][])) {
    for (const name of names.toLowerCase().split(' ')) {
      const other = kinds.get(name) ?? kind;
      if (other !== kind) throw new Error(`the tool ${name} is ${other} in one table and ${kind} in another`);
      kinds.set(name, kind);
    }
  }
  return kinds;
}

const CLASS_OF_KIND: Record<ToolKind, ActionClass> = {
  read: 'file_read',
  write: 'file_write',
  delete: 'file_delete',
  shell: 'bash_destructive',
  patch: 'file_write',
  network: 'network',
  dispatch: 'agent_dispatch',
  quiet: 'file_read',
  stop: 'bash_exec',
};

const PATH_KEYS = [
  'file_path',
  'filePath',
  'path',
  'notebook_path',
  'absolute_path',
  'dir_path',
  'target_file',
  'filename',
  'file',
];
const COMMAND_KEYS = ['command', 'cmd', 'script', 'chars', 'input'];

/** A call with more is built to take long, not to be useful. */
const MAX_PATHS = 2000;

/** Classifies a tool call. A shell tool without a readable command stays bash_destructive. */
export function classifyTool(toolName: string, input: unknown): ToolClass {
  const found = classifyByKind(toolName, input);
  const isReadable =
    found.paths.length <= MAX_PATHS && found.paths.every(({ path }) => path.length <= MAX_PATH);
  return isReadable ? found : { actionClass: 'unknown', command: null, paths: [] };
}

function classifyByKind(toolName: string, input: unknown): ToolClass {
  const kind = kindOfTool(toolName);
  if (kind === null) return { actionClass: 'unknown', command: null, paths: pathsIn(input, 'write') };
  if (kind === 'shell') return { actionClass: 'bash_destructive', command: commandIn(input), paths: [] };
  if (kind === 'patch') return classifyPatch(input);
  const access = kind === 'write' || kind === 'delete' ? kind : 'read';
  return { actionClass: CLASS_OF_KIND[kind], command: null, paths: pathsIn(input, access) };
}

function kindOfTool(toolName: string): ToolKind | null {
  const name = toolName.toLowerCase();
  // Our own server's tools; a tool of the same name on another server is not ours.
  const own = /^(?:mcp__caisson__|caisson__|caisson[_.])(.+)$/.exec(name)?.[1];
  const bare = own ?? name;
  if (own !== undefined || !name.startsWith('mcp__')) {
    if (/^board_[a-z_]+$/.test(bare)) return 'quiet';
    return KINDS.get(bare) ?? null;
  }
  return null;
}

function classifyPatch(input: unknown): ToolClass {
  const text =
    typeof input === 'string'
      ? input
      : (commandIn(input) ?? stringAt(input, ['patch', 'patchText', 'diff']) ?? '');
  const paths = [...readPatchPaths(text), ...pathsIn(input, 'write')];
  const deletes = paths.some(({ access }) => access === 'delete');
  return { actionClass: deletes ? 'file_delete' : 'file_write', command: null, paths };
}

/** `command` as text, or as the argument list that codex sends. */
function commandIn(input: unknown): string | null {
  if (typeof input === 'string') return input;
  if (!isRecord(input)) return null;
  for (const key of COMMAND_KEYS) {
    const value = input[key];
    if (typeof value === 'string') return value;
    if (Array.isArray(value) && value.every((word) => typeof word === 'string'))
      return value.map(quoteWord).join(' ');
    if (isRecord(value)) return commandIn(value);
  }
  return null;
}

function pathsIn(input: unknown, access: Access): { path: string; access: Access }[] {
  if (!isRecord(input)) return [];
  const single = PATH_KEYS.flatMap((key) => (typeof input[key] === 'string' ? [input[key]] : []));
  const many = ['paths', 'files'].flatMap((key) => (Array.isArray(input[key]) ? input[key] : []));
  return [...single, ...many.filter((path): path is string => typeof path === 'string')].map((path) => ({
    path,
    access,
  }));
}

function stringAt(input: unknown, keys: readonly string[]): string | null {
  if (!isRecord(input)) return null;
  for (const key of keys) {
    const value = input[key];
    if (typeof value === 'string') return value;
  }
  return null;
}

function quoteWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : shellQuote(word);
}
