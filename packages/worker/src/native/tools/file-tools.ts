import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AgentTool } from '@earendil-works/pi-agent-core';
import {
  numberOr,
  parameters,
  resolveIn,
  stringOf,
  textOr,
  textResult,
  type ToolPlace,
} from './native-tool.ts';

const MAX_READ_BYTES = 8 << 20;
const DEFAULT_LINES = 2000;
const PATH = { type: 'string', description: 'Path, relative to the workspace or absolute' } as const;

export const readTool = (place: ToolPlace): AgentTool => ({
  name: 'read',
  label: 'read',
  description: 'Read a text file. For long files give offset (first line, from 1) and limit (lines).',
  parameters: parameters(
    {
      path: PATH,
      offset: { type: 'number', description: 'First line, counted from 1' },
      limit: { type: 'number', description: `Lines to read; default ${DEFAULT_LINES}` },
    },
    ['path'],
  ),
  execute: async (_id, input) => {
    const path = resolveIn(place, stringOf(input, 'path'));
    const { size } = await stat(path);
    if (size > MAX_READ_BYTES)
      throw new RangeError(`${path} has ${size} bytes; read it in parts with a command`);
    const lines = (await readFile(path, 'utf8')).split('\n');
    const from = Math.max(0, numberOr(input, 'offset', 1) - 1);
    const shown = lines.slice(from, from + numberOr(input, 'limit', DEFAULT_LINES));
    const left = lines.length - from - shown.length;
    return textResult(shown.join('\n') + (left > 0 ? `\n… ${left} more lines …` : ''));
  },
});

export const writeTool = (place: ToolPlace): AgentTool => ({
  name: 'write',
  label: 'write',
  description: 'Write a file whole, creating folders as needed. Replaces what was there.',
  parameters: parameters({ path: PATH, content: { type: 'string', description: 'The whole content' } }, [
    'path',
    'content',
  ]),
  execute: async (_id, input) => {
    const path = resolveIn(place, stringOf(input, 'path'));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, stringOf(input, 'content'));
    return textResult(`Wrote ${path}.`);
  },
});

export const editTool = (place: ToolPlace): AgentTool => ({
  name: 'edit',
  label: 'edit',
  description: 'Replace one exact text in a file by another. The old text must occur exactly once.',
  parameters: parameters(
    {
      path: PATH,
      oldText: { type: 'string', description: 'The exact text to replace' },
      newText: { type: 'string', description: 'The new text' },
    },
    ['path', 'oldText', 'newText'],
  ),
  execute: async (_id, input) => {
    const path = resolveIn(place, stringOf(input, 'path'));
    const oldText = stringOf(input, 'oldText');
    const parts = oldText === '' ? [] : (await readFile(path, 'utf8')).split(oldText);
    if (parts.length !== 2)
      throw new Error(`oldText occurs ${Math.max(0, parts.length - 1)} times in ${path}; it must occur once`);
    await writeFile(path, parts.join(stringOf(input, 'newText')));
    return textResult(`Edited ${path}.`);
  },
});

export const lsTool = (place: ToolPlace): AgentTool => ({
  name: 'ls',
  label: 'ls',
  description: 'List a folder. Folders end in a slash.',
  parameters: parameters({ path: PATH }, []),
  execute: async (_id, input) => {
    const entries = await readdir(resolveIn(place, textOr(input, 'path', '.')), { withFileTypes: true });
    const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted();
    return textResult(names.length === 0 ? '(empty)' : names.join('\n'));
  },
});
