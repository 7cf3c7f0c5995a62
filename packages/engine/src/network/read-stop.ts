/** Whether an answer of a model, or one event of its stream, says that the model would not answer. */
type Members = Readonly<Record<string, unknown>>;

/** What every refusal has somewhere in its text, so that other pieces need not be parsed. */
export const MAY_REFUSE = /refus|content_filter|blockReason|SAFETY|PROHIBITED|BLOCKLIST|RECITATION|SPII/;
const GEMINI_REFUSES = /^(?:IMAGE_)?(?:SAFETY|PROHIBITED_CONTENT|RECITATION)$|^(?:BLOCKLIST|SPII)$/;

export function isRefusal(value: unknown): boolean {
  const top = members(value);
  const body = members(top['response']); // Responses and Code Assist wrap the answer in it
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

function list(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(members) : [];
}

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
