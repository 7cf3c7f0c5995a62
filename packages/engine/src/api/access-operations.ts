/** The operations of tokens, with which visitors come over TCP. */
import { ApiInputs } from '@caisson/protocol';
import { cutPage, json, list } from './define-operation.ts';

export const ACCESS_OPERATIONS = {
  createToken: json(
    'POST /v1/tokens',
    () => ApiInputs.createToken,
    ({ caisson }, order) => caisson.tokens.create(order),
  ),
  tokens: list()(
    'GET /v1/tokens',
    () => ApiInputs.page,
    async ({ caisson }, page) => cutPage(await caisson.tokens.list(), page, ageOf),
    ageOf,
  ),
  revokeToken: json(
    'DELETE /v1/tokens/:token',
    () => ApiInputs.token,
    async ({ caisson }, { token }) => ({ isRevoked: await caisson.tokens.revoke(token) }),
  ),
};

/** The oldest first. */
function ageOf({ createdAt, id }: { readonly createdAt: string; readonly id: string }): string {
  return `${createdAt}/${id}`;
}
