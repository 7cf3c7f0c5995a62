import type { ModelApi, RuntimeDescriptor } from '@caisson/protocol';

/** The native agent speaks the format that its settings name. */
const NATIVE_APIS: Readonly<Record<string, ModelApi>> = {
  'anthropic-messages': 'anthropic-messages',
  'openai-responses': 'openai-responses',
  'openai-completions': 'openai-chat',
};

/** Which wire format a runtime speaks: it decides what the broker forwards. */
export function modelApiOf(
  { name, api }: Pick<RuntimeDescriptor, 'name' | 'api'>,
  settings: Readonly<Record<string, unknown>>,
): ModelApi {
  const named = name === 'native' ? settings['api'] : undefined;
  return (typeof named === 'string' ? NATIVE_APIS[named] : undefined) ?? api;
}
