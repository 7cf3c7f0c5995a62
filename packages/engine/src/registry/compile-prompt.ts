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

/**
 * The agent's system prompt for a task. All fragments are replaced at once: what fragments and the task contain is
 * text, never a template.
 */
export function compileSystemPrompt(name: string, agent: AgentDefinition, task?: string): CompiledPrompt {
  refuseUnknownFragments(name, agent);
  return compile(agent.systemPrompt ?? '', agent, task);
}

/** The task in the agent's own template; the task alone when there is none. */
export function compileUserPrompt(name: string, agent: AgentDefinition, task: string): CompiledPrompt {
  refuseUnknownFragments(name, agent);
  return compile(agent.userPrompt ?? '{{task}}', agent, task);
}

function compile(template: string, agent: AgentDefinition, task: string | undefined): CompiledPrompt {
  let fragmentCount = 0;
  const text = template.replace(PLACEHOLDER, (whole, fragment: string) => {
    if (fragment === TASK) return task ?? whole;
    fragmentCount += 1;
    return agent.fragments?.[fragment] ?? '';
  });
  return describePrompt(text, fragmentCount);
}

/** What is reported of a prompt in place of its text. */
export function describePrompt(text: string, fragmentCount: number): CompiledPrompt {
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
