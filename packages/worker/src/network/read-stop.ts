/** How an answer of a model ended, if the model did not end it normally. */
import type { EarlyStop } from '@caisson/protocol';
import { list, members, type Members } from './members.ts';

const GEMINI_REFUSES = /^(?:IMAGE_)?(?:SAFETY|PROHIBITED_CONTENT|RECITATION)$|^(?:BLOCKLIST|SPII)$/;

/** Reads a whole answer or one event of a stream. */
export function readStop(value: unknown): EarlyStop | null {
  const top = members(value);
  const body = members(top['response']); // Responses and Code Assist wrap the answer in it
  if (isRefusal(top, body)) return 'refusal';
  return isCut(top, body) ? 'max-tokens' : null;
}

function isCut(top: Members, body: Members): boolean {
  const finished = [...list(top['choices']), ...list(top['candidates']), ...list(body['candidates'])];
  return (
    [top, members(top['delta'])].some((one) => one['stop_reason'] === 'max_tokens') ||
    [top, body].some((one) => members(one['incomplete_details'])['reason'] === 'max_output_tokens') ||
    finished.some((one) => one['finish_reason'] === 'length' || one['finishReason'] === 'MAX_TOKENS')
  );
}

function isRefusal(top: Members, body: Members): boolean {
  return (
    refusesAsAnthropic(top) ||
    refusesAsChat(top) ||
    refusesAsResponses(top) ||
    refusesAsResponses(body) ||
    refusesAsGemini(top) ||
    refusesAsGemini(body)
  );
}

function refusesAsAnthropic(top: Members): boolean {
  return top['stop_reason'] === 'refusal' || members(top['delta'])['stop_reason'] === 'refusal';
}

function refusesAsChat(top: Members): boolean {
  return list(top['choices']).some((choice) => {
    const said = [members(choice['message']), members(choice['delta'])];
    return choice['finish_reason'] === 'content_filter' || said.some(({ refusal }) => isText(refusal));
  });
}

function refusesAsResponses(body: Members): boolean {
  const items = [members(body['item']), ...list(body['output'])];
  return (
    body['type'] === 'response.refusal.done' ||
    members(body['incomplete_details'])['reason'] === 'content_filter' ||
    items.some((item) => list(item['content']).some((part) => part['type'] === 'refusal'))
  );
}

function refusesAsGemini(body: Members): boolean {
  const reasons = list(body['candidates']).map((candidate) => candidate['finishReason']);
  return (
    isText(members(body['promptFeedback'])['blockReason']) ||
    reasons.some((reason) => isText(reason) && GEMINI_REFUSES.test(reason))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
