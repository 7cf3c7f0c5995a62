import type { NativeConfig } from './native-config.ts';

const MODE_WORDS = {
  suggest: 'You may read, not change anything: answer with a proposal.',
  'auto-edit': 'You may edit files in the workspace and run commands.',
  'full-auto': 'You may edit files in the workspace and run commands.',
} as const;

/** Short on purpose: the task and the user's own system prompt matter more. */
export function systemPromptFor(config: NativeConfig): string {
  const base = [
    'You are a coding agent working alone in a sandbox; no one answers questions while you work.',
    `The workspace is ${config.workspace}. Paths are relative to it.`,
    MODE_WORDS[config.mode],
    'A tool call that policy denies stays denied: find another way or say what you would have done.',
    'When you are done, answer with what you changed and what is left.',
  ].join('\n');
  return config.systemPrompt === undefined ? base : `${base}\n\n${config.systemPrompt}`;
}
