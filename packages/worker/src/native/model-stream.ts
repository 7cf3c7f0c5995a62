import type { AgentLoopConfig, StreamFn } from '@earendil-works/pi-agent-core';
import type { NativeConfig } from './native-config.ts';

export type NativeModel = AgentLoopConfig['model'];

/** Loads the one provider that is needed; the others cost start time. */
export async function loadStream(api: NativeConfig['api']): Promise<StreamFn> {
  switch (api) {
    case 'anthropic-messages':
      return (await import('@earendil-works/pi-ai/api/anthropic-messages')).streamSimple as StreamFn;
    case 'openai-responses':
      return (await import('@earendil-works/pi-ai/api/openai-responses')).streamSimple as StreamFn;
    case 'openai-completions':
      return (await import('@earendil-works/pi-ai/api/openai-completions')).streamSimple as StreamFn;
  }
}

/** What pi-ai needs to know of a model. The host computes prices, so they are 0 here. */
export function describeModel(config: NativeConfig): NativeModel {
  return {
    id: config.model,
    name: config.model,
    api: config.api,
    provider: 'caisson',
    baseUrl: config.baseUrl,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: config.maxTokens ?? 16_384,
  };
}
