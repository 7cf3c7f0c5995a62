export type * from './contract.ts';
export { createBudget } from './create-budget.ts';
export { costOf, findPrice, listPricedModels, PRICE_TABLE_VERSION } from './price-table.ts';
