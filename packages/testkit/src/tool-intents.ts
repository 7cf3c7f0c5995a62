// Which tool of which client does what, taken from the requests of the real programs. A row is used only when the
// client offered a tool of that name, so that a script never calls what the client does not have.

import { shellQuote } from '@caisson/protocol';
import type { ToolCall } from './answer.ts';
import type { OfferedTool } from './conversation.ts';
import type { ToolIntent } from './script.ts';

type Input = ToolCall['input'];
type IntentOf<K extends ToolIntent['intent']> = Extract<ToolIntent, { intent: K }>;

/** Expresses an intent with one of the offered tools; `null` when none of them fits. */
export function toToolCall(
  intent: ToolIntent,
  offered: readonly OfferedTool[],
  callId: string,
): ToolCall | null {
  if (intent.intent === 'call') {
    return { callId, name: intent.tool, kind: 'function', input: intent.arguments ?? {} };
  }
  if (intent.intent === 'mcp') return mcpCall(intent, offered, callId);
  for (const recipe of recipesFor(intent)) {
    const tool = offered.find((candidate) => recipe.names.includes(candidate.name));
    const input = tool === undefined ? null : recipe.input(tool);
    if (tool !== undefined && input !== null) return callOf(tool, callId, input);
  }
  return null;
}

function callOf(tool: OfferedTool, callId: string, input: Input): ToolCall {
  const named = { callId, name: tool.name, kind: tool.kind, input };
  return tool.namespace === undefined ? named : { ...named, namespace: tool.namespace };
}

function mcpCall(intent: IntentOf<'mcp'>, offered: readonly OfferedTool[], callId: string): ToolCall | null {
  const isIt = (tool: OfferedTool) => tool.name === intent.tool || tool.name.endsWith(`_${intent.tool}`);
  const tool = offered.find(isIt);
  if (tool !== undefined) return callOf(tool, callId, intent.arguments ?? {});
  const exec = offered.find(isCodeMode);
  return exec === undefined ? null : callOf(exec, callId, codeForMcp(intent.tool, intent.arguments ?? {}));
}

/** Codex's code mode: one free-text tool that runs JavaScript, in which the real tools are functions. */
const isCodeMode = (tool: OfferedTool): boolean => tool.name === 'exec' && tool.kind === 'custom';
const codeFor = (name: string, input: unknown): string =>
  `text(await tools.${name}(${JSON.stringify(input)}));\n`;
/** MCP tools may be left out of the description; the script finds them by name when it runs. */
const codeForMcp = (tool: string, input: unknown): string =>
  [
    `const found = ALL_TOOLS.find(({ name }) => name.endsWith(${JSON.stringify(`_${tool}`)}));`,
    `text(found ? await tools[found.name](${JSON.stringify(input)}) : 'no tool ${tool} is offered');`,
    '',
  ].join('\n');
const codeRecipe = (name: string, input: unknown): Recipe => ({
  names: ['exec'],
  input: (tool) =>
    isCodeMode(tool) && (tool.description ?? '').includes(`${name}(`) ? codeFor(name, input) : null,
});

interface Recipe {
  readonly names: readonly string[];
  /** `null` when the tool has the name but not the parameters. */
  input(tool: OfferedTool): Input | null;
}

function recipesFor(intent: Exclude<ToolIntent, { intent: 'mcp' | 'call' }>): readonly Recipe[] {
  switch (intent.intent) {
    case 'write-file':
      return [
        ...writeRecipes(intent),
        ...patchRecipes(addFilePatch(intent)),
        ...shellRecipes(writeCommand(intent)),
      ];
    case 'edit-file':
      // A patch can only replace whole lines, so the shell comes first.
      return [
        ...editRecipes(intent),
        ...shellRecipes(editCommand(intent)),
        ...patchRecipes(updateFilePatch(intent)),
      ];
    case 'read-file':
      return [...readRecipes(intent), ...shellRecipes(`cat ${shellQuote(intent.path)}`)];
    case 'run-command':
      return shellRecipes(intent.command);
  }
}

const hasParameter = (tool: OfferedTool, name: string): boolean => name in Object(tool.parameters.properties);
const pathParameter = (tool: OfferedTool): string | undefined =>
  ['file_path', 'filePath', 'path', 'absolute_path'].find((name) => hasParameter(tool, name));

function withPath(tool: OfferedTool, path: string, rest: Readonly<Record<string, string>>): Input | null {
  const parameter = pathParameter(tool);
  return parameter === undefined ? null : { [parameter]: path, ...rest };
}

const writeRecipes = ({ path, content }: IntentOf<'write-file'>): readonly Recipe[] => [
  { names: ['Write', 'write', 'write_file', 'create'], input: (tool) => withPath(tool, path, { content }) },
];

function editRecipes({ path, find, replace }: IntentOf<'edit-file'>): readonly Recipe[] {
  return [
    { names: ['Edit'], input: (tool) => withPath(tool, path, { old_string: find, new_string: replace }) },
    {
      names: ['replace'],
      input: (tool) =>
        withPath(tool, path, {
          ...(hasParameter(tool, 'instruction') ? { instruction: `Replace ${find}` } : {}),
          old_string: find,
          new_string: replace,
        }),
    },
    {
      names: ['edit'],
      input: (tool) => {
        if (hasParameter(tool, 'edits')) return { path, edits: [{ oldText: find, newText: replace }] };
        const isCamel = hasParameter(tool, 'oldString');
        const words: Record<string, string> = isCamel
          ? { oldString: find, newString: replace }
          : { oldText: find, newText: replace };
        return withPath(tool, path, words);
      },
    },
  ];
}

const readRecipes = ({ path }: IntentOf<'read-file'>): readonly Recipe[] => [
  { names: ['Read', 'read', 'read_file', 'view'], input: (tool) => withPath(tool, path, {}) },
];

function patchInput(tool: OfferedTool, patch: string): Input | null {
  const parameter = ['input', 'patchText', 'patch'].find((name) => hasParameter(tool, name));
  return parameter === undefined ? null : { [parameter]: patch };
}

function patchRecipes(patch: string): readonly Recipe[] {
  return [
    { names: ['apply_patch'], input: (tool) => (tool.kind === 'custom' ? patch : patchInput(tool, patch)) },
    codeRecipe('apply_patch', patch),
  ];
}

function shellRecipes(command: string): readonly Recipe[] {
  return [
    { names: ['exec_command'], input: () => ({ cmd: command }) },
    codeRecipe('exec_command', { cmd: command }),
    { names: ['shell_command'], input: () => ({ command }) },
    { names: ['shell'], input: () => ({ command: ['bash', '-c', command] }) },
    { names: ['local_shell'], input: () => ({ type: 'exec', command: ['bash', '-c', command], env: {} }) },
    {
      names: ['Bash', 'bash', 'run_shell_command'],
      input: (tool) => ({
        command,
        ...(hasParameter(tool, 'description') ? { description: 'scripted command' } : {}),
      }),
    },
  ];
}

const lines = (text: string): readonly string[] => text.replace(/\n$/, '').split('\n');

function addFilePatch({ path, content }: IntentOf<'write-file'>): string {
  const added = lines(content).map((line) => `+${line}`);
  return ['*** Begin Patch', `*** Add File: ${path}`, ...added, '*** End Patch', ''].join('\n');
}

function updateFilePatch({ path, find, replace }: IntentOf<'edit-file'>): string {
  const removed = lines(find).map((line) => `-${line}`);
  const added = lines(replace).map((line) => `+${line}`);
  return [
    '*** Begin Patch',
    `*** Update File: ${path}`,
    '@@',
    ...removed,
    ...added,
    '*** End Patch',
    '',
  ].join('\n');
}

/** Base64 keeps every byte of the content away from the shell's quoting. */
function writeCommand({ path, content }: IntentOf<'write-file'>): string {
  return `printf %s ${Buffer.from(content).toString('base64')} | base64 -d > ${shellQuote(path)}`;
}

function editCommand({ path, find, replace }: IntentOf<'edit-file'>): string {
  const program = 'my ($f,$r)=splice(@ARGV,0,2); undef $/; $_=<>; s/\\Q$f\\E/$r/; print';
  const target = shellQuote(path);
  return `perl -e ${shellQuote(program)} ${shellQuote(find)} ${shellQuote(replace)} ${target} > ${target}.new && mv ${target}.new ${target}`;
}
