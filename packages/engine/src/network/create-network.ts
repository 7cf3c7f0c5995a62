import type { Network, NetworkSettings } from './contract.ts';

/** HTTP, TLS and compression are loaded with the first network that opens: many commands and runs never need one. */
export function createNetwork(settings: NetworkSettings): Network {
  return {
    async open(options) {
      const { openNetwork } = await import('./open-network.ts');
      return openNetwork(settings, options);
    },
  };
}
