import { hash } from 'node:crypto';

import type { AgentDefinition } from '@caisson/protocol';

import { PromptTemplateError } from './errors.ts';

const PLACEHOLDER = /\{\{\s*([a-z][a-z0-9_-]*)\s*\}\}/g;
/** Filled in for each task, not by the agent's own fragments. */
const TASK = 'task';

/** A prompt with its fragments in place; the data of `prompt.compiled`. */
export interface CompiledPrompt {
  readonly text: string;
  readonly hash: string;
  readonly fragmentCount: number;
  /** Four characters a token, as a rule of thumb. */
  readonly estimatedTokens: number;
}

/** The agent's system prompt. Fragments are put in once: what they contain is text, never a template. */
export function compileSystemPrompt(name: string, agent: AgentDefinition): CompiledPrompt {
  refuseUnknownFragments(name, agent);
  let fragmentCount = 0;
  const text = (agent.systemPrompt ?? '').replace(PLACEHOLDER, (whole, fragment: string) => {
    if (fragment === TASK) return whole;
    fragmentCount += 1;
    return agent.fragments?.[fragment] ?? '';
  });
  return { text, hash: hash('sha256', text), fragmentCount, estimatedTokens: Math.ceil(text.length / 4) };
}

/** Throws when a prompt names a fragment that is not there: it would be missing from every task. */
export function refuseUnknownFragments(name: string, agent: AgentDefinition): void {
  const known = agent.fragments ?? {};
  for (const template of [agent.systemPrompt, agent.userPrompt]) {
    for (const [, fragment = ''] of (template ?? '').matchAll(PLACEHOLDER)) {
      if (fragment === TASK || Object.hasOwn(known, fragment)) continue;
      throw new PromptTemplateError(
        `a prompt of agent ${name} names the fragment {{${fragment}}}, which is not defined`,
        {
          remedy: `Add fragments.${fragment} to the agent, or take the braces out.`,
        },
      );
    }
  }
}
