/** The operations of tokens, with which visitors come over TCP. */
import { ApiInputs } from '@caisson/protocol';
import { json } from './define-operation.ts';

export const ACCESS_OPERATIONS = {
  createToken: json(
    'POST /v1/tokens',
    () => ApiInputs.createToken,
    ({ caisson }, order) => caisson.tokens.create(order),
  ),
  tokens: json(
    'GET /v1/tokens',
    () => ApiInputs.nothing,
    ({ caisson }) => caisson.tokens.list(),
  ),
  revokeToken: json(
    'DELETE /v1/tokens/:token',
    () => ApiInputs.token,
    async ({ caisson }, { token }) => ({ isRevoked: await caisson.tokens.revoke(token) }),
  ),
};
