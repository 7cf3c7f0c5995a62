import type { TokensApi } from '../caisson-contract.ts';
import type { Engine } from '../engine.ts';
import { createTokens } from '../face/index.ts';

export function createTokensApi({ ledger, clock }: Engine): TokensApi {
  const tokens = createTokens(ledger, clock);
  return {
    create: (order) => tokens.create({ ...order, kind: 'token' }),
    list: async () => tokens.list(),
    revoke: (id) => tokens.revoke(id),
  };
}
