/** Puts the prompts of a run together from fragments. */
import type { DispatchRequest, FoundAgent, FoundRuntime } from './contract.ts';

/** How an agent asks a person, and what to do when it is refused something. */
const ASKING_HELP = [
  'You work alone in a sandbox; nobody reads along.',
  'If you cannot go on without a decision of a person, or were denied something you need, write the file',
  '.caisson/needs_input.json with {"question": "…", "options": ["…"], "context": "…", "partial_state": {…}} and stop.',
  'Files for the person who asked (reports, images) go into the folder outputs/.',
].join(' ');

export function compilePrompts(options: {
  request: DispatchRequest;
  agent: FoundAgent | null;
  runtime: FoundRuntime;
  description: string;
}): { systemPrompt: string; userPrompt: string } {
  const { request, agent, runtime, description } = options;
  if (runtime.name === 'command') return { systemPrompt: '', userPrompt: description };
  const own = request.systemPrompt ?? textOf(agent, 'systemPrompt');
  const template = textOf(agent, 'userPrompt');
  return {
    systemPrompt: [own, ASKING_HELP].filter((part) => part !== '').join('\n\n'),
    userPrompt: template === '' ? description : template.replaceAll('{{task}}', description),
  };
}

function textOf(agent: FoundAgent | null, key: string): string {
  const value = agent?.definition[key];
  return typeof value === 'string' ? value : '';
}
