// The neutral form of a request. The position of a conversation in its script is read from the request alone, never
// remembered: a retried request gets the same answer again, and any number of clients can share a server.

import { REFUSAL_TEXT } from './answer.ts';
import type { ModelScript, ScriptTurn } from './script.ts';

export type WireApi = 'anthropic-messages' | 'openai-responses' | 'openai-chat' | 'gemini';

/** A tool as the client offered it. */
export interface OfferedTool {
  readonly name: string;
  /** `custom` tools take free text, `local_shell` is OpenAI's built-in; all others take a JSON object. */
  readonly kind: 'function' | 'custom' | 'local_shell';
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly description?: string;
  /** OpenAI Responses groups the tools of one server under a namespace. */
  readonly namespace?: string;
}

/** One entry of the conversation, in order. */
export type Entry =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'assistant'; readonly text: string; readonly toolCalls: number }
  | { readonly kind: 'tool-result'; readonly text: string };

export interface Conversation {
  readonly api: WireApi;
  readonly model: string;
  readonly isStream: boolean;
  readonly entries: readonly Entry[];
  readonly tools: readonly OfferedTool[];
}

export interface Position {
  readonly script: ModelScript;
  readonly index: number;
  readonly turn: ScriptTurn;
}

/** Finds the script and the turn for a request; `null` when no script fits or the script is over. */
export function findPosition(scripts: readonly ModelScript[], conversation: Conversation): Position | null {
  const match = findScript(scripts, conversation.entries);
  if (match === null) return null;
  const index = countAnswers(conversation.entries.slice(match.from));
  const turn = match.script.turns[index];
  return turn === undefined ? null : { script: match.script, index, turn };
}

/** The script whose `when` appears last in the conversation wins: a resumed conversation follows its newest prompt. */
function findScript(
  scripts: readonly ModelScript[],
  entries: readonly Entry[],
): { script: ModelScript; from: number } | null {
  let best: { script: ModelScript; from: number } | null = null;
  for (const script of scripts) {
    const from = script.when === undefined ? 0 : lastUserEntryWith(entries, script.when);
    if (from < 0) continue;
    const isBetter =
      best === null || (best.script.when === undefined && script.when !== undefined) || from > best.from;
    if (isBetter && !(best?.script.when !== undefined && script.when === undefined)) best = { script, from };
  }
  return best;
}

function lastUserEntryWith(entries: readonly Entry[], text: string): number {
  return entries.findLastIndex((entry) => entry.kind === 'user' && entry.text.includes(text));
}

/** A tool's result advances the script by one; so does an answer that called no tool. */
function countAnswers(entries: readonly Entry[]): number {
  return joinAssistant(entries).filter((entry) => entry.kind === 'tool-result' || isFinalAnswer(entry))
    .length;
}

/** Some formats carry the words and the call of one answer as two entries. */
function joinAssistant(entries: readonly Entry[]): readonly Entry[] {
  const joined: Entry[] = [];
  for (const entry of entries) {
    const last = joined.at(-1);
    if (entry.kind === 'assistant' && last?.kind === 'assistant') {
      const both = { text: last.text + entry.text, toolCalls: last.toolCalls + entry.toolCalls };
      joined[joined.length - 1] = { kind: 'assistant', ...both };
    } else joined.push(entry);
  }
  return joined;
}

const isFinalAnswer = (entry: Entry): boolean =>
  entry.kind === 'assistant' &&
  entry.toolCalls === 0 &&
  entry.text.trim() !== '' &&
  entry.text !== REFUSAL_TEXT;
