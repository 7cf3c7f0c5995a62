/** The files of the shop. */
export const PRICE = `/** Prices of the shop, in units of their currency. */
const RATES = { de: 0.19, fr: 0.2, ch: 0.081 };

/** What a customer of a country pays. */
export function grossPrice(net, country) {
  const rate = RATES[country] ?? 0;
  return net * (1 + rate);
}

/** A price with the sign of its currency. */
export function formatPrice(price, currency) {
  const digits = currency === 'JPY' ? 0 : 2;
  return \`\${price.toFixed(digits)} \${currency}\`;
}

/** A voucher never makes a price negative. */
export function applyVoucher(price, voucher) {
  return Math.max(0, price - voucher);
}

/** What is in the cart, together. */
export function totalPrice(prices) {
  return prices.reduce((sum, price) => sum + price, 0);
}

export function roundCents(price) {
  return Math.round(price * 100) / 100;
}
`;

export const PRICE_TEST = `import assert from 'node:assert/strict';
import test from 'node:test';
import { grossPrice, totalPrice } from '../src/price.mjs';

test('a total has whole cents', () => {
  assert.equal(totalPrice([0.1, 0.2, 0.1, 0.2, 0.1, 0.2]), 0.9);
});

test('a gross price has whole cents', () => {
  assert.equal(grossPrice(9.99, 'de'), 11.89);
});
`;

export const SENSE = `import { defineSense } from 'caisson';

export default defineSense({
  compute({ state, log }) {
    log('orders were counted');
    state.set('orders', 12);
  },
});
`;

export const WORKFLOW = `import { defineWorkflow } from 'caisson';

export default defineWorkflow({
  roles: {
    async order({ payload, log }) {
      log('ordering', payload.item);
      return { ordered: payload.item };
    },
    async approve({ ask, payload }) {
      return await ask('Order 40 boxes of ' + payload.item + '?', { options: ['yes', 'no'] });
    },
  },
  route: ({ messages }) => ['order', 'approve'][messages.length] ?? null,
});
`;
