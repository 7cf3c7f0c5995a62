export { createBudgetKeeper } from './budget-keeper.ts';
